//! Answers: the balancer's own in one piece, an origin's handed on.

use super::bindings::wasi::http::types::Response;
use super::bindings::{wit_future, wit_stream};
use super::job::Job;
use super::translation;
use super::upstream::{Upstream, complete};
use crate::policy::exchange::Answer;
use crate::policy::reply::Reply;
use futures_util::future::select;
use std::pin::pin;
use wit_bindgen::spawn_local;

/// The balancer's own answer.
pub(super) fn reply(wants_no_body: bool, reply: Reply) -> Response {
    let fields = translation::lower(&reply.headers);
    let contents = if wants_no_body || reply.body.is_empty() { None } else { Some(reply.body) };
    let contents = contents.map(|body| {
        let (mut stream, contents) = wit_stream::new();
        // The client may be gone; there is nobody else to tell.
        spawn_local(async move { drop(stream.write_all(body).await) });
        contents
    });
    let (response, _) = Response::new(fields, contents, complete());
    translation::set_status(&response, reply.status);
    response
}

/// Hands an origin's answer on, and with it the rest of the upload. The body does not pass through
/// the instance: its end, its breaking off and the silence between two chunks are the host's to
/// pass on and to watch.
pub(super) fn answer(answer: Answer<'_>, origin: Option<Response>, mut job: Job) -> Response {
    let Answer { status, has_body, .. } = answer;
    let fields = translation::lower_answer(answer);
    let (contents, trailers) = match origin.filter(|_| has_body) {
        Some(origin) => {
            let (_, handled) = wit_future::new(|| Ok(()));
            let (contents, trailers) = Response::consume_body(origin, handled);
            (Some(contents), trailers)
        }
        None => (None, complete()),
    };
    let (response, delivered) = Response::new(fields, contents, trailers);
    translation::set_status(&response, status);
    spawn_local(async move {
        // An upload goes on for no longer than its answer.
        select(pin!(job.upload()), pin!(delivered.into_future())).await;
        if let Some(upstream) = job.into_upstream() {
            Upstream::transmitted(upstream).await;
        }
    });
    response
}
