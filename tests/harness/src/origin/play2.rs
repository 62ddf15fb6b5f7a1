//! Plays one turn on an h2 stream.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{HeaderName, HeaderValue, Response};

use super::head::{answer_lines, has_no_body};
use super::http2::Fatal;
use crate::case::{Body, Ending, Piece, RequestFault, Turn};

const RUN: usize = 64 * 1024;

/// Plays the turn; what it does to the whole connection, if anything. `None`: the client left.
pub(super) async fn play(
    mut respond: SendResponse<Bytes>,
    turn: &Turn,
    echo: Option<&[u8]>,
    closes: bool,
) -> Option<Option<Fatal>> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(turn.delay_ms)) => {}
        _ = poll_fn(|cx| respond.poll_reset(cx)) => return None,
    }
    let Some(status) = turn.status else {
        return break_request(respond, turn.fault?).await;
    };
    for interim in &turn.interim {
        let _ = respond.send_informational(response(*interim, Vec::new())?);
    }
    let echoed = echo.map_or(0, |bytes| bytes.len() as u64);
    let lines = answer_lines(turn, echoed, false);
    let lines = lines.into_iter().filter(|(name, _)| name != "transfer-encoding").collect();
    let echoed = echo.map(|bytes| Body(vec![Piece::Bytes(bytes.to_vec())]));
    let body = echoed.as_ref().or(turn.body.as_ref()).filter(|_| !has_no_body(turn));
    let mut stream = respond.send_response(response(status, lines)?, body.is_none()).ok()?;
    if let Some(body) = body
        && let Some(fatal) = send_body(&mut stream, body).await?
    {
        return Some(Some(fatal));
    }
    Some(closes.then_some(Fatal::Graceful))
}

async fn break_request(mut respond: SendResponse<Bytes>, fault: RequestFault) -> Option<Option<Fatal>> {
    match fault {
        RequestFault::RefusedStream => respond.send_reset(Reason::REFUSED_STREAM),
        RequestFault::RstStream => respond.send_reset(Reason::INTERNAL_ERROR),
        RequestFault::Goaway => return Some(Some(Fatal::Goaway)),
        RequestFault::Reset => return Some(Some(Fatal::Reset)),
        RequestFault::Silence => {
            let _ = poll_fn(|cx| respond.poll_reset(cx)).await;
            return None;
        }
        _ => return Some(Some(Fatal::Close)),
    }
    Some(None)
}

/// `None` when the client stopped it, else what the ending does to the connection.
async fn send_body(stream: &mut SendStream<Bytes>, body: &Body) -> Option<Option<Fatal>> {
    for piece in &body.0 {
        match piece {
            Piece::Pause(time) => {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(*time)) => {}
                    _ = poll_fn(|cx| stream.poll_reset(cx)) => return None,
                }
            }
            Piece::End(Ending::Stall) => {
                let _ = poll_fn(|cx| stream.poll_reset(cx)).await;
                return None;
            }
            Piece::End(Ending::Close) => return Some(Some(Fatal::Close)),
            Piece::End(Ending::Reset) => {
                stream.send_reset(Reason::INTERNAL_ERROR);
                return Some(None);
            }
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(RUN) {
                    send_run(stream, run.into()).await?;
                }
            }
        }
    }
    stream.send_data(Bytes::new(), true).ok()?;
    Some(None)
}

/// Sends as the windows allow.
pub(crate) async fn send_run(stream: &mut SendStream<Bytes>, mut run: Bytes) -> Option<()> {
    while !run.is_empty() {
        stream.reserve_capacity(run.len());
        let capacity = poll_fn(|cx| stream.poll_capacity(cx)).await?.ok()?;
        let part = run.split_to(capacity.min(run.len()));
        stream.send_data(part, false).ok()?;
    }
    Some(())
}

fn response(status: u16, lines: Vec<(String, Vec<u8>)>) -> Option<Response<()>> {
    let mut response = Response::builder().status(status).body(()).ok()?;
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).ok()?;
        response.headers_mut().append(name, HeaderValue::from_bytes(&value).ok()?);
    }
    Some(response)
}
