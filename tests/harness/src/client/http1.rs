//! One request over HTTP/1.1: the answer is read while the request is written.

use std::time::Duration;

use socket2::Socket;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::reader::Reader;
use super::writer::{Sent, write};
use crate::case::Request;
use crate::evidence::Outcome;

pub(super) async fn send(
    io: impl AsyncRead + AsyncWrite + Unpin,
    socket: &Socket,
    request: &Request,
    begun: Instant,
) -> Outcome {
    let (reader, mut writer) = tokio::io::split(io);
    let mut reader = Reader::new(reader, begun);
    let sent = {
        let answer = reader.answer(&request.method);
        let sending = write(&mut writer, request);
        tokio::pin!(answer, sending);
        tokio::select! {
            outcome = &mut answer => return outcome,
            sent = &mut sending => match sent {
                Ok(Sent::Closed) => Sent::Closed,
                Ok(Sent::Reset) => Sent::Reset,
                // A host that answers early may close: what counts is the answer.
                Ok(Sent::Waiting) | Err(_) => return answer.await,
            },
        }
    };
    if matches!(sent, Sent::Reset) {
        let _ = socket.set_linger(Some(Duration::ZERO));
    } else {
        let _ = writer.shutdown().await;
    }
    Outcome::Gone
}
