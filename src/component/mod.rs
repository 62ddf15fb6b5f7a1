//! The `wasi:http` 0.2 shell: one request per instance at a time, blocking over `wasi:io/poll`.
//!
//! It translates and never decides: a request becomes a [`RequestHead`], an [`Action`] becomes
//! calls to the host, what the host reports becomes an [`Event`].
//!
//! | file | what |
//! |---|---|
//! | [`client`] | the client's request and its body |
//! | [`upstream`] | one request to an origin |
//! | [`job`] | an exchange and its open request, several at once |
//! | [`respond`] | answers: the balancer's own, and an origin's, streamed |
//! | [`health`] | the health view, its cache kept as long as the instance |
//! | [`translation`] | the policy's words in those of `wasi:http` 0.2 |
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
use bindings::exports::wasi::http::incoming_handler::Guest;
use bindings::wasi::http::types::{IncomingRequest, ResponseOutparam};
use client::Client;
use job::{Ending, Job};

/// What the world exports; `bindings` hands it to the host.
struct Balancer;

impl Guest for Balancer {
    fn handle(request: IncomingRequest, response: ResponseOutparam) {
        let settings = wasi::settings();
        let mut client = Client::new(request);
        let decision = client.with_head(|head| admit(settings, head).counted(count));
        match decision {
            Decision::Reply(reply) => respond::reply(&client, response, &reply),
            Decision::Health(form) => respond::reply(&client, response, &health::view(settings, form)),
            Decision::Forward(plan) => forward(*plan, client, response),
        }
    }
}

fn forward(plan: Plan<'static>, mut client: Client, response: ResponseOutparam) {
    // Admission forwards nothing without an origin.
    let Some((exchange, action)) = Exchange::start(plan, host::now(), host::dice()) else {
        return respond::reply(&client, response, &Reply::misconfigured());
    };
    let mut job = Job::new(exchange, action);
    let ending = loop {
        match job.ending.take() {
            Some(ending) => break ending,
            None => job::wait(&mut [&mut job], Some(&mut client)),
        }
    };
    match ending {
        Ending::Answer(answer, origin) => respond::answer(response, answer, origin, job, &mut client),
        Ending::Reply(reply) => {
            drop(job);
            respond::reply(&client, response, &reply);
        }
    }
}

fn count(gate: &Gate<'_>) -> Hit {
    wasi::count(gate, host::time_of_day(), host::dice)
}
