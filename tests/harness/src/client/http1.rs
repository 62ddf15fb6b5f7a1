//! One request over HTTP/1.1: the answer is read while the request is written.

use std::time::Duration;

use socket2::Socket;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::Instant;

use super::reader::Reader;
use super::writer::{Sent, write};
use crate::case::Request;
use crate::evidence::{Line, Outcome, Received};

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

/// A connection that serves one request after another.
pub(super) struct Session<IO> {
    reader: Reader<ReadHalf<IO>>,
    writer: WriteHalf<IO>,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Session<IO> {
    pub(super) fn open(io: IO) -> Self {
        let (reader, writer) = tokio::io::split(io);
        Self { reader: Reader::new(reader, Instant::now()), writer }
    }

    /// Sends a request; says besides whether the connection can take another.
    pub(super) async fn send(&mut self, request: &Request, begun: Instant) -> (Outcome, bool) {
        self.reader.begin(begun);
        let answer = self.reader.answer(&request.method);
        let sending = write(&mut self.writer, request);
        tokio::pin!(answer, sending);
        let (outcome, sent) = tokio::select! {
            biased;
            sent = &mut sending => (answer.await, sent.is_ok()),
            outcome = &mut answer => (outcome, false),
        };
        let reusable = sent && matches!(&outcome, Outcome::Answer(answer) if answer.stays());
        (outcome, reusable)
    }
}

impl Received {
    /// Whether the connection may be used again (RFC 9112 section 9.6).
    fn stays(&self) -> bool {
        let closes = |(name, value): &Line| name == "connection" && value.eq_ignore_ascii_case(b"close");
        let framed = |(name, _): &Line| name == "content-length" || name == "transfer-encoding";
        let ends = matches!(self.status, 204 | 304) || self.headers.iter().any(framed);
        self.broken.is_none() && ends && !self.headers.iter().any(closes)
    }
}
