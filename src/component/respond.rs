//! Answers: the balancer's own in one piece, an origin's as it streams.

use super::bindings::wasi::http::types::{
    IncomingBody, IncomingResponse, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use super::bindings::wasi::io::poll::{Pollable, poll};
use super::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use super::client::Client;
use super::host::{self, BLOCKING_WRITE};
use super::job::Job;
use super::translation;
use crate::policy::exchange::Answer;
use crate::policy::reply::Reply;
use crate::policy::time::Millis;

/// The most that is spliced at once; the host's own limit is what counts.
const SPLICE_SIZE: u64 = 1024 * 1024;

/// Gives the balancer's own answer.
pub(super) fn reply(client: &Client, out: ResponseOutparam, reply: &Reply) {
    let response = OutgoingResponse::new(translation::lower(&reply.headers));
    translation::set_status(&response, reply.status);
    let no_body = reply.body.is_empty() || client.wants_no_body();
    let body = if no_body { None } else { response.body().ok() };
    ResponseOutparam::set(out, Ok(response));
    let Some(body) = body else { return };
    if let Ok(stream) = body.write()
        && !write(&stream, &reply.body)
    {
        return;
    }
    // The client may be gone; there is nobody else to tell.
    let _ = OutgoingBody::finish(body, None);
}

/// Writes what is taken at once, then the rest as the client reads; false when nobody takes it.
fn write(stream: &OutputStream, body: &[u8]) -> bool {
    let room = stream.check_write().map_or(0, |room| usize::try_from(room).unwrap_or(usize::MAX));
    let (now, later) = body.split_at(room.min(body.len()));
    let mut later = later.chunks(BLOCKING_WRITE);
    (now.is_empty() || stream.write(now).is_ok())
        && later.all(|chunk| stream.blocking_write_and_flush(chunk).is_ok())
}

/// Hands an origin's answer on, and with it the rest of the upload. A body that breaks off is
/// dropped unfinished: the host then aborts the connection.
pub(super) fn answer(
    out: ResponseOutparam,
    answer: Answer<'_>,
    origin: IncomingResponse,
    mut job: Job<'_>,
    client: &mut Client,
) {
    let Answer { status, has_body, .. } = answer;
    let response = OutgoingResponse::new(translation::lower_answer(answer));
    translation::set_status(&response, status);
    let body = if has_body { response.body().ok() } else { None };
    let source = if body.is_some() { origin.consume().ok() } else { None };
    ResponseOutparam::set(out, Ok(response));
    if let (Some(body), Some(source)) = (body, source) {
        let whole = relay(&source, &body, &mut job, client);
        if whole {
            let _ = OutgoingBody::finish(body, None);
        }
    }
}

/// Streams the body, beside what is left of the upload. Says whether it came to its end.
fn relay(source: &IncomingBody, sink: &OutgoingBody, job: &mut Job<'_>, client: &mut Client) -> bool {
    let (Ok(input), Ok(output)) = (source.stream(), sink.write()) else {
        return false;
    };
    // What is there at once, and is taken at once, never waits.
    let (mut more, mut room) = (None, None);
    loop {
        let (ready, heard) = match splice(&input, &output) {
            Flow::Moved => continue,
            Flow::Ended => return true,
            Flow::Broken => return false,
            // A slow reader is not the origin's silence: no clock runs.
            Flow::Full => (room.get_or_insert_with(|| output.subscribe()), None),
            Flow::Empty => {
                let more = more.get_or_insert_with(|| input.subscribe());
                (more, Some(host::now()))
            }
        };
        if !wait(ready, heard, job, client) {
            return false;
        }
    }
}

enum Flow {
    Moved,
    Empty,
    Full,
    Ended,
    Broken,
}

/// Moves what is there without copying it through the guest.
fn splice(input: &InputStream, output: &OutputStream) -> Flow {
    match output.check_write() {
        Ok(0) => return Flow::Full,
        Ok(_) => {}
        Err(_) => return Flow::Broken,
    }
    match output.splice(input, SPLICE_SIZE) {
        Ok(0) => Flow::Empty,
        Ok(_) => Flow::Moved,
        // Either side may have closed: the body is whole only if the client still takes bytes.
        Err(StreamError::Closed) if output.check_write().is_ok() => Flow::Ended,
        Err(_) => Flow::Broken,
    }
}

/// Waits for the body to go on while the upload does too; false when the origin that was last heard at
/// that instant was silent for too long.
fn wait(ready: &Pollable, heard: Option<Millis>, job: &mut Job<'_>, client: &mut Client) -> bool {
    let mut clock = heard.map(|heard| Clock::new(job, heard));
    loop {
        let mut pollables = vec![ready];
        pollables.extend(clock.as_ref().map(|clock| &clock.alarm));
        let uploading = job.upload_ready(client).inspect(|upload| pollables.push(upload)).is_some();
        let last = pollables.len().saturating_sub(1);
        let places = poll(&pollables);
        if places.contains(&0) {
            return true;
        }
        // The upload may have put the end off since: then another alarm is set.
        let rung = clock.as_ref().filter(|_| places.contains(&1)).map(|clock| clock.until);
        if uploading && places.iter().any(|place| usize::try_from(*place) == Ok(last)) {
            job.upload(client);
        }
        if let (Some(rung), Some(heard)) = (rung, heard) {
            let later = Clock::new(job, heard);
            if later.until <= rung {
                return false;
            }
            clock = Some(later);
        }
    }
}

/// When the origin will have been silent for too long.
struct Clock {
    until: Millis,
    alarm: Pollable,
}

impl Clock {
    fn new(job: &Job<'_>, heard: Millis) -> Self {
        let until = job.silent_at(heard);
        Self { until, alarm: host::alarm(until) }
    }
}
