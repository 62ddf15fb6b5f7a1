//! A small load generator: one request over and over on a few kept-alive connections. Only the answer
//! that was asked for counts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// How long the last answers are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request, and the one answer that counts.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request as it stands on the wire (HTTP/1.1, kept alive).
    pub request: Vec<u8>,
    /// The status of its answer.
    pub status: u16,
    /// The content of its answer, if that matters.
    pub body: Option<Vec<u8>>,
}

/// How long, and how often at most, requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No request begins later than this.
    pub span: Duration,
    /// No more requests than this.
    pub requests: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Whole answers, as asked for.
    pub answers: u64,
    /// All else.
    pub failures: u64,
    /// One of the failures.
    pub fault: Option<String>,
    /// Microseconds from the beginning of each request to the end of its answer.
    pub latencies: Vec<u32>,
}

impl Load {
    fn failed(fault: impl std::fmt::Display) -> Self {
        Self { failures: 1, fault: Some(fault.to_string()), ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.answers += other.answers;
        self.failures += other.failures;
        self.fault = self.fault.take().or(other.fault);
        self.latencies.extend(other.latencies);
    }
}

/// Sends `request` on so many connections for so long; an answer counts when it is a 200 with a
/// content-length and came whole.
pub async fn load(address: SocketAddr, request: &[u8], connections: usize, span: Duration) -> Load {
    let ask = Ask { request: request.to_vec(), status: 200, body: None };
    run(address, &ask, connections, Bounds { span, requests: u64::MAX }).await
}

/// Asks over and over, on so many kept-alive connections at once.
pub async fn run(address: SocketAddr, ask: &Ask, connections: usize, bounds: Bounds) -> Load {
    let until = Instant::now() + bounds.span;
    let ask = Arc::new(ask.clone());
    let left = Arc::new(AtomicU64::new(bounds.requests));
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        let (ask, left) = (Arc::clone(&ask), Arc::clone(&left));
        clients.spawn(async move { client(address, &ask, until, &left).await });
    }
    let mut sum = Load::default();
    while let Some(done) = clients.join_next().await {
        sum.add(done.unwrap_or_else(Load::failed));
    }
    sum
}

/// Asks once, on a connection of its own.
///
/// # Errors
/// When the answer is another one, or none comes within a minute.
pub fn once(address: SocketAddr, ask: &Ask) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let bounds = Bounds { span: Duration::from_secs(60), requests: 1 };
    let load = runtime.map_err(|error| error.to_string())?.block_on(run(address, ask, 1, bounds));
    load.fault.map_or(Ok(()), Err)
}

/// Whoever gets no answer waits for it until a while behind the end: one clock for all of a client's requests, as
/// one for each would cost more than the request.
async fn client(address: SocketAddr, ask: &Ask, until: Instant, left: &AtomicU64) -> Load {
    let mut load = Load::default();
    let asking = ask_on(address, ask, until, left, &mut load);
    let outcome = timeout_at(until + PATIENCE, asking).await;
    if let Err(fault) = outcome.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
        load.add(Load::failed(fault));
    }
    load
}

async fn ask_on(
    address: SocketAddr,
    ask: &Ask,
    until: Instant,
    left: &AtomicU64,
    load: &mut Load,
) -> Result<(), String> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(128 * 1024);
    let mut begun = Instant::now();
    let take = |left: u64| left.checked_sub(1);
    while begun < until && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
        stream.write_all(&ask.request).await.map_err(|error| error.to_string())?;
        let head = read(&mut stream, &mut buffer).await.ok_or("no whole answer")?;
        ask.judge(&buffer, head)?;
        let ended = Instant::now();
        load.answers += 1;
        load.latencies.push(u32::try_from((ended - begun).as_micros()).unwrap_or(u32::MAX));
        begun = ended;
    }
    Ok(())
}

impl Ask {
    fn judge(&self, answer: &[u8], head: usize) -> Result<(), String> {
        let status = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if !answer.starts_with(b"HTTP/1.1 ") || status != Some(self.status) {
            let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
            return Err(format!("{} in place of {}", String::from_utf8_lossy(line), self.status));
        }
        match (&self.body, answer.get(head..)) {
            (Some(body), Some(found)) if body != found => Err("another content".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Reads one answer whole; where its head ends.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<usize> {
    buffer.clear();
    let (head, length) = loop {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
        if let Some(found) = head(buffer) {
            break found;
        }
    };
    let whole = head + length?;
    while buffer.len() < whole {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    (buffer.len() == whole).then_some(head)
}

/// Where the head ends, once it is whole, and the content-length.
fn head(buffer: &[u8]) -> Option<(usize, Option<usize>)> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let Ok(httparse::Status::Complete(head)) = response.parse(buffer) else { return None };
    let length = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    Some((head, length.and_then(|length| std::str::from_utf8(length.value).ok()?.parse().ok())))
}

/// Sends requests one after another on one connection; the answers, as far as they come.
pub async fn answers(address: SocketAddr, requests: &[&str]) -> Vec<String> {
    let mut answers = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return answers;
    };
    let mut buffer = Vec::new();
    for request in requests {
        let exchange = async {
            stream.write_all(request.as_bytes()).await.ok()?;
            read(&mut stream, &mut buffer).await
        };
        match timeout_at(Instant::now() + Duration::from_secs(10), exchange).await {
            Ok(Some(_)) => answers.push(String::from_utf8_lossy(&buffer).into_owned()),
            _ => break,
        }
    }
    answers
}
