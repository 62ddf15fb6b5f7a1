//! HTTP/1.1 as a mock origin reads it: byte for byte, so that the record is what was on the wire.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::body::{RequestBody, line};
use super::connection::Listening;
use super::play1::{After, play};
use crate::case::Turn;
use crate::evidence::{Content, Line, Progress, Recorded};

/// A client's side of the connection.
struct Incoming {
    reader: ReadHalf<TlsStream<TcpStream>>,
    buffer: Vec<u8>,
}

type Writer = WriteHalf<TlsStream<TcpStream>>;

struct Head {
    method: String,
    target: Vec<u8>,
    lines: Vec<Line>,
}

pub(super) async fn serve(tls: TlsStream<TcpStream>, listening: &Arc<Listening>) {
    let socket = socket2::SockRef::from(tls.get_ref().0).try_clone();
    let (reader, mut writer) = tokio::io::split(tls);
    let mut incoming = Incoming { reader, buffer: Vec::new() };
    loop {
        let head = match incoming.head().await {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(fault) => return listening.complain(&fault),
        };
        match exchange(head, &mut incoming, &mut writer, listening).await {
            After::Next => {}
            After::Close => {
                let _ = writer.shutdown().await;
                return;
            }
            After::Reset => {
                if let Ok(socket) = socket {
                    let _ = socket.set_linger(Some(std::time::Duration::ZERO));
                }
                return;
            }
        }
    }
}

async fn exchange(head: Head, incoming: &mut Incoming, writer: &mut Writer, listening: &Listening) -> After {
    let (body, framing) = match RequestBody::of(&head.lines) {
        Ok(body) => body,
        Err(fault) => {
            listening.complain(&fault);
            return After::Close;
        }
    };
    let progress = if body.is_done() { Progress::Complete } else { Progress::Open };
    let turn = listening.turn(&head.target);
    let number = listening.recorder.begin(Recorded {
        origin: listening.url.clone(),
        method: head.method,
        target: head.target,
        headers: head.lines,
        framing,
        body: Content::default(),
        progress,
        abandoned: false,
    });
    let Some((turn, closes)) = turn else {
        listening.complain("a request beyond the script");
        return After::Close;
    };
    let mut upload = Upload { body, number, listening, echo: turn.echo.then(Vec::new) };
    let after = upload.exchange(&turn, closes, incoming, writer).await;
    listening.recorder.end(number, Progress::Broken);
    after
}

/// The body of the request in hand, on its way into the record.
struct Upload<'a> {
    body: RequestBody,
    number: usize,
    listening: &'a Listening,
    echo: Option<Vec<u8>>,
}

impl Upload<'_> {
    async fn exchange(
        &mut self,
        turn: &Turn,
        closes: bool,
        incoming: &mut Incoming,
        writer: &mut Writer,
    ) -> After {
        let enough = turn.read_bytes.unwrap_or(u64::MAX);
        let played = if self.read(incoming, enough).await {
            self.stop_reading_unless(turn.drain);
            let echo = self.echo.take();
            tokio::select! {
                after = play(writer, turn, echo.as_deref(), closes) => after.ok(),
                () = self.watch(incoming, turn.drain) => None,
            }
        } else {
            None
        };
        let Some(after) = played else {
            self.listening.recorder.abandon(self.number);
            return After::Close;
        };
        if matches!(after, After::Next) && !self.body.is_done() {
            if !turn.drain {
                return std::future::pending().await;
            }
            if !self.read(incoming, u64::MAX).await {
                return After::Close;
            }
        }
        after
    }

    /// What is not read from here on will never be.
    fn stop_reading_unless(&self, drain: bool) {
        if !drain {
            self.listening.recorder.end(self.number, Progress::Broken);
        }
    }

    /// Reads until the body is whole or `enough` bytes came; false when the client stopped short.
    async fn read(&mut self, incoming: &mut Incoming, enough: u64) -> bool {
        loop {
            if !self.take(&mut incoming.buffer) {
                return false;
            }
            if self.body.is_done() || self.body.received >= enough {
                return true;
            }
            if !incoming.fill().await {
                return false;
            }
        }
    }

    /// Ends when the client is gone; reads what is left of the body meanwhile, if it may.
    async fn watch(&mut self, incoming: &mut Incoming, drain: bool) {
        if !drain && !self.body.is_done() {
            return std::future::pending().await;
        }
        while self.take(&mut incoming.buffer) && incoming.fill().await {}
    }

    fn take(&mut self, buffer: &mut Vec<u8>) -> bool {
        let (recorder, number, echo) = (&self.listening.recorder, self.number, &mut self.echo);
        let taken = self.body.take(buffer, |bytes| {
            recorder.body(number, bytes);
            if let Some(echo) = echo {
                echo.extend_from_slice(bytes);
            }
        });
        if self.body.is_done() {
            recorder.end(number, Progress::Complete);
        }
        taken.map_err(|fault| self.listening.complain(&fault)).is_ok()
    }
}

impl Incoming {
    /// More bytes into the buffer; false at the end. Nothing is lost when the future is dropped.
    async fn fill(&mut self) -> bool {
        self.buffer.reserve(16 * 1024);
        matches!(self.reader.read_buf(&mut self.buffer).await, Ok(count) if count > 0)
    }

    /// The next request head, `None` when the client closes between requests.
    async fn head(&mut self) -> Result<Option<Head>, String> {
        while !self.buffer.windows(4).any(|end| end == b"\r\n\r\n") {
            if !self.fill().await {
                let between = self.buffer.is_empty();
                return if between { Ok(None) } else { Err("half a request head".to_owned()) };
            }
        }
        let request_line = line(&mut self.buffer).unwrap_or_default();
        let mut lines = Vec::new();
        while let Some(field) = line(&mut self.buffer).filter(|field| !field.is_empty()) {
            lines.push(header_line(&field)?);
        }
        parse_request_line(&request_line, lines).map(Some)
    }
}

fn parse_request_line(text: &[u8], lines: Vec<Line>) -> Result<Head, String> {
    let malformed = || format!("a malformed request line: {}", text.escape_ascii());
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    match parts.as_slice() {
        [method, target, b"HTTP/1.1"]
            if !method.is_empty()
                && target.first() == Some(&b'/')
                && target.iter().all(|byte| (0x21..0x7f).contains(byte)) =>
        {
            let method = String::from_utf8(method.to_vec()).map_err(|_| malformed())?;
            Ok(Head { method, target: target.to_vec(), lines })
        }
        _ => Err(malformed()),
    }
}

fn header_line(field: &[u8]) -> Result<Line, String> {
    let malformed = || format!("a malformed header line: {}", field.escape_ascii());
    let colon = field.iter().position(|byte| *byte == b':').ok_or_else(malformed)?;
    let (name, value) = (field.get(..colon).unwrap_or_default(), field.get(colon + 1..));
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(token) {
        return Err(malformed());
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    Ok((name, value.unwrap_or_default().trim_ascii().to_vec()))
}
