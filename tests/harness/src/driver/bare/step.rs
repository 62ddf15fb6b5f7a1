//! One request through the policy, as a shell would take it.

use std::time::Duration;

use futures_util::future::join_all;
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::exchange::{BACKEND_FIELD, Exchange};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::health::accept::Form;
use messageweave_lb::policy::health::{Step as Next, Verdict};
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::upgrade::Scheme;
use tokio::time::sleep;

use super::client::Client;
use super::exchange::{Ending, Run};
use super::world::World;
use crate::case::{Over, Protocol, Request, Step};
use crate::client::{length, lines};
use crate::evidence::{Outcome, Received};

pub(super) async fn play(world: &World, step: &Step) -> Outcome {
    sleep(Duration::from_millis(step.after_ms)).await;
    world.step_clock(step.clock_ms);
    let request = &step.request;
    if request.raw.is_some() {
        return Outcome::Unplayable("the policy has no wire".to_owned());
    }
    let mut client = Client::start(request);
    let gone = client.gone.clone();
    tokio::select! {
        biased;
        outcome = answer(world, request, &mut client) => outcome,
        () = gone.notified() => Outcome::Gone,
    }
}

async fn answer(world: &World, request: &Request, client: &mut Client) -> Outcome {
    let begun = world.now();
    let settings = &world.settings;
    let head = match head(request) {
        Ok(head) => head,
        Err(fault) => return Outcome::Unplayable(fault),
    };
    let reply = match admit(settings, head).counted(|gate| world.count(gate)) {
        Decision::Reply(reply) => reply,
        Decision::Health(form) => health(world, form).await,
        Decision::Forward(plan) => {
            let dice = world.dice(&plan);
            let Some((exchange, action)) = Exchange::start(*plan, world.now(), dice) else {
                return Outcome::Unplayable("a plan without an origin".to_owned());
            };
            let run = Run { world, exchange, upstream: None };
            match run.finish(action, Some(client)).await {
                Ending::Reply(reply, _) => reply,
                Ending::Answer(answered) => return answered.relay(client, begun).await,
                Ending::Gone => {
                    client.gone.notified().await;
                    return Outcome::Gone;
                }
            }
        }
    };
    let spent = (world.now() - begun).0;
    Outcome::Answer(local(reply, &request.method, spent))
}

/// The health view: whatever is due is probed at once.
async fn health(world: &World, form: Form) -> Reply {
    let mut cache = world.health.lock().await;
    let since = world.now();
    // The lock is held throughout: nobody else's probe is ever waited for.
    if let Next::Probe(due) = cache.step(&world.settings, since, since) {
        let probes = due.into_iter().map(|index| async move {
            let verdict = probe(world, index).await;
            (index, verdict, world.now())
        });
        for (index, verdict, at) in join_all(probes).await {
            cache.record(index, verdict, at);
        }
    }
    cache.view(&world.settings, form)
}

async fn probe(world: &World, index: usize) -> Verdict {
    let plan = world.settings.origins().get(index).map(|origin| Plan::probe(&world.settings, origin));
    let Some((exchange, action)) = plan.and_then(|plan| Exchange::start(plan, world.now(), 0)) else {
        return Verdict::DOWN;
    };
    match (Run { world, exchange, upstream: None }).finish(action, None).await {
        Ending::Reply(_, verdict) => verdict,
        Ending::Answer(answered) => Verdict { up: true, status: Some(answered.answer.status) },
        Ending::Gone => Verdict::DOWN,
    }
}

fn local(reply: Reply, method: &str, spent: u64) -> Received {
    let mut received = Received {
        status: reply.status,
        headers: reply.headers,
        head_ms: spent,
        whole_ms: spent,
        ..Received::default()
    };
    if method != "HEAD" {
        received.body.push(&reply.body);
        received.arrivals.push((received.body.len(), spent));
    }
    received
}

/// The head as our host reports it: `host` and `connection` included.
fn head(request: &Request) -> Result<RequestHead<'_>, String> {
    let mut fields: Vec<(String, Vec<u8>)> = lines(request);
    if request.version == Protocol::Http2 {
        join_crumbs(&mut fields);
    }
    let mut hosts = request.host.iter();
    let (authority, target) = split_target(&request.target);
    let authority = match (authority, request.version) {
        (None, Protocol::Http2) => {
            let host = hosts.next().ok_or("an h2 request without an authority")?;
            Some(std::str::from_utf8(&host.0).map_err(|_| "an odd authority")?)
        }
        (authority, _) => authority,
    };
    fields.extend(hosts.map(|host| ("host".to_owned(), host.0.clone())));
    if let Some(length) = length(request) {
        fields.push(("content-length".to_owned(), length.to_string().into_bytes()));
    } else if request.body.is_some() && request.version == Protocol::Http1 {
        fields.push(("transfer-encoding".to_owned(), b"chunked".to_vec()));
    }
    Ok(RequestHead {
        peer: None,
        method: &request.method,
        path_with_query: Some(target),
        scheme: Some(if request.over == Over::Https { Scheme::Https } else { Scheme::Http }),
        authority,
        headers: Headers::new(fields),
    })
}

/// RFC 9113 section 8.2.3: outside h2 the crumbs of `cookie` are one line.
fn join_crumbs(fields: &mut Vec<(String, Vec<u8>)>) {
    let is_cookie = |(name, _): &(String, Vec<u8>)| name.eq_ignore_ascii_case("cookie");
    let crumbs: Vec<_> = fields.extract_if(.., |field| is_cookie(field)).map(|(_, crumb)| crumb).collect();
    if !crumbs.is_empty() {
        fields.push(("cookie".to_owned(), crumbs.join(b"; ".as_slice())));
    }
}

/// RFC 9112 section 3.2.2: the absolute form carries an authority of its own.
fn split_target(target: &str) -> (Option<&str>, &str) {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            (Some(authority), path)
        }
        _ => (None, target),
    }
}

/// The field that names the chosen origin.
pub(super) fn backend_line(origin: &str) -> (String, Vec<u8>) {
    (BACKEND_FIELD.to_owned(), origin.as_bytes().to_vec())
}
