//! The `wasi:http` 0.3 shell: many requests per instance at once, each a task of its own.
//!
//! It translates and never decides: a request becomes a [`RequestHead`], an [`Action`] becomes
//! calls to the host, what the host reports becomes an [`Event`]. A trap would cost every request
//! of the instance, so what can fail here has a way to fail alone.
//!
//! | file | what |
//! |---|---|
//! | [`client`] | the client's request and its body |
//! | [`upstream`] | one request to an origin |
//! | [`job`] | an exchange with its open request and its client |
//! | [`replay`] | the room for replay copies, shared by the instance |
//! | [`respond`] | answers: the balancer's own, and an origin's, handed on |
//! | [`health`] | the health view, its cache and probes shared by the instance |
//! | [`translation`] | the policy's words in those of `wasi:http` 0.3 |
//! | [`host`] | clocks, dice |
//!
//! [`RequestHead`]: crate::policy::admission::RequestHead
//! [`Action`]: crate::policy::exchange::Action
//! [`Event`]: crate::policy::exchange::Event

mod bindings;
mod client;
mod health;
mod host;
mod job;
mod replay;
mod respond;
mod translation;
mod upstream;

use crate::policy::admission::{Decision, admit};
use crate::policy::exchange::Exchange;
use crate::policy::limit::gate::Gate;
use crate::policy::limit::window::Hit;
use crate::policy::plan::Plan;
use crate::policy::reply::Reply;
use crate::wasi;
use bindings::exports::wasi::http::handler::Guest;
use bindings::wasi::http::types::{ErrorCode, Request, Response};
use client::Client;
use job::{Ending, Job};
use replay::ReplayCopy;
use std::pin::Pin;

/// A call to the host that is under way.
type Pending<T> = Pin<Box<dyn Future<Output = T>>>;

/// What the world exports; `bindings` hands it to the host.
struct Balancer;

impl Guest for Balancer {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let settings = wasi::settings();
        let client = Client::new(request);
        let decision = client.with_head(|head| admit(settings, head).counted(count));
        Ok(match decision.ok_or(ErrorCode::InternalError(None))? {
            Decision::Reply(reply) => respond::reply(client.wants_no_body(), reply),
            Decision::Health(form) => {
                respond::reply(client.wants_no_body(), health::view(settings, form).await)
            }
            Decision::Forward(plan) => forward(*plan, client).await,
        })
    }
}

async fn forward(mut plan: Plan<'static>, client: Client) -> Response {
    let copy = ReplayCopy::of(&mut plan);
    // Admission forwards nothing without an origin.
    let Some((exchange, action)) = Exchange::start(plan, host::now(), host::dice()) else {
        return respond::reply(client.wants_no_body(), Reply::misconfigured());
    };
    let mut job = Job::new(exchange, Some(client), copy);
    match job.run(action).await.0 {
        Ending::Answer(answer, origin) => respond::answer(answer, origin, job),
        Ending::Reply(reply) => respond::reply(job.wants_no_body(), reply),
    }
}

fn count(gate: &Gate<'_>) -> Hit {
    wasi::count(gate, host::time_of_day(), host::dice)
}
