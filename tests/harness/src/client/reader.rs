//! Reads an HTTP/1.1 answer (RFC 9112 sections 4, 6 and 7.1) and notes when its parts came.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

use super::since;
use crate::evidence::{Line, Outcome, Received};

/// The answer's side of a connection.
pub(super) struct Reader<R> {
    io: R,
    buffer: Vec<u8>,
    begun: Instant,
    /// Why nothing more comes.
    end: String,
}

/// The end that is one also without a length: FIN, over TLS after close_notify.
const CLOSED: &str = "closed";

enum BodyEnd {
    Length(u64),
    Chunked,
    Connection,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(io: R, begun: Instant) -> Self {
        Self { io, buffer: Vec::new(), begun, end: String::new() }
    }

    /// Times count from here on.
    pub(super) fn begin(&mut self, begun: Instant) {
        self.begun = begun;
    }

    pub(super) async fn answer(&mut self, method: &str) -> Outcome {
        let mut received = loop {
            match self.head().await {
                Ok(head) if head.status < 200 => {}
                Ok(head) => break head,
                Err(outcome) => return outcome,
            }
        };
        received.head_ms = since(self.begun);
        let broken = match body_end(&received, method) {
            Ok(end) => self.body(end, &mut received).await,
            Err(fault) => Err(fault),
        };
        received.broken = broken.err();
        received.whole_ms = since(self.begun);
        Outcome::Answer(received)
    }

    async fn head(&mut self) -> Result<Received, Outcome> {
        let broken = |why| Outcome::Answer(Received { broken: Some(why), ..Received::default() });
        loop {
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                return parse_head(head.get(..end).unwrap_or_default()).map_err(broken);
            }
            if !self.fill().await {
                if self.buffer.is_empty() {
                    return Err(Outcome::Refused(self.end.clone()));
                }
                let half = self.buffer.escape_ascii();
                return Err(broken(format!("{} within the head: {half}", self.end)));
            }
        }
    }

    async fn body(&mut self, end: BodyEnd, received: &mut Received) -> Result<(), String> {
        match end {
            BodyEnd::Length(length) => self.exactly(length, received).await,
            BodyEnd::Connection => self.rest(received).await,
            BodyEnd::Chunked => loop {
                let size = self.line().await?;
                let digits = size.split(|byte| *byte == b';').next().unwrap_or_default();
                let size = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
                    .ok_or("a malformed chunk size")?;
                if size == 0 {
                    while !self.line().await?.is_empty() {}
                    return Ok(());
                }
                self.exactly(size, received).await?;
                if !self.line().await?.is_empty() {
                    return Err("a chunk longer than its size".to_owned());
                }
            },
        }
    }

    async fn rest(&mut self, received: &mut Received) -> Result<(), String> {
        loop {
            let all = self.buffer.len() as u64;
            self.exactly(all, received).await?;
            if !self.fill().await {
                let clean = self.end == CLOSED;
                return if clean { Ok(()) } else { Err(self.end.clone()) };
            }
        }
    }

    async fn exactly(&mut self, mut left: u64, received: &mut Received) -> Result<(), String> {
        while left > 0 {
            let count = left.min(self.buffer.len() as u64);
            if count > 0 {
                let bytes: Vec<u8> = self.buffer.drain(..count as usize).collect();
                received.body.push(&bytes);
                received.arrivals.push((received.body.len(), since(self.begun)));
                left -= count;
            } else if !self.fill().await {
                return Err(self.end.clone());
            }
        }
        Ok(())
    }

    async fn line(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let mut line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                line.truncate(end);
                return Ok(line);
            }
            if !self.fill().await {
                return Err(self.end.clone());
            }
        }
    }

    async fn fill(&mut self) -> bool {
        self.buffer.reserve(64 * 1024);
        match self.io.read_buf(&mut self.buffer).await {
            Ok(0) => CLOSED.clone_into(&mut self.end),
            Ok(_) => return true,
            Err(error) => self.end = error.to_string(),
        }
        false
    }
}

/// RFC 9112 section 6.3.
fn body_end(head: &Received, method: &str) -> Result<BodyEnd, String> {
    let values = |name: &str| -> Vec<&[u8]> {
        let lines = head.headers.iter().filter(|(known, _)| known == name);
        lines.map(|(_, value)| value.as_slice()).collect()
    };
    let (codings, lengths) = (values("transfer-encoding"), values("content-length"));
    if method == "HEAD" || matches!(head.status, 204 | 304) {
        return Ok(BodyEnd::Length(0));
    }
    match (codings.as_slice(), lengths.as_slice()) {
        ([], []) => Ok(BodyEnd::Connection),
        ([coding], []) if *coding == b"chunked" => Ok(BodyEnd::Chunked),
        ([], [length]) => std::str::from_utf8(length)
            .ok()
            .and_then(|length| length.parse().ok())
            .map(BodyEnd::Length)
            .ok_or_else(|| "a content-length that is no number".to_owned()),
        _ => Err(format!("a contradictory framing: {codings:?} {lengths:?}")),
    }
}

fn parse_head(head: &[u8]) -> Result<Received, String> {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| status_line.strip_prefix(b"HTTP/1.0 "))
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok())
        .ok_or_else(|| format!("a malformed status line: {}", status_line.escape_ascii()))?;
    let headers: Option<Vec<Line>> = lines.map(header_line).collect();
    let headers = headers.ok_or("a malformed header line")?;
    Ok(Received { status, headers, ..Received::default() })
}

fn header_line(line: &[u8]) -> Option<Line> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = String::from_utf8(line.get(..colon)?.to_ascii_lowercase()).ok()?;
    Some((name, line.get(colon + 1..)?.trim_ascii().to_vec()))
}
