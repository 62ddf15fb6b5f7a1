//! A small load generator: one request over and over on a few kept-alive connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Whole answers with the expected status.
    pub answers: u64,
    /// All else.
    pub failures: u64,
}

/// Sends `request` (HTTP/1.1, kept alive) on so many connections for so long; an answer counts when
/// it is a 200 with a content-length and came whole.
pub async fn load(address: SocketAddr, request: &[u8], connections: usize, span: Duration) -> Load {
    let until = Instant::now() + span;
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        let request = request.to_vec();
        clients.spawn(async move { client(address, &request, until).await });
    }
    let mut sum = Load::default();
    while let Some(done) = clients.join_next().await {
        let done = done.unwrap_or(Load { answers: 0, failures: 1 });
        sum.answers += done.answers;
        sum.failures += done.failures;
    }
    sum
}

async fn client(address: SocketAddr, request: &[u8], until: Instant) -> Load {
    let mut load = Load::default();
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return Load { answers: 0, failures: 1 };
    };
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(128 * 1024);
    while Instant::now() < until {
        let exchange = async {
            stream.write_all(request).await.ok()?;
            answer(&mut stream, &mut buffer).await
        };
        match timeout_at(until + Duration::from_secs(5), exchange).await {
            Ok(Some(())) => load.answers += 1,
            _ => {
                load.failures += 1;
                return load;
            }
        }
    }
    load
}

/// Reads one answer whole, which must be a 200.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    read(stream, buffer).await?;
    buffer.starts_with(b"HTTP/1.1 200").then_some(())
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    buffer.clear();
    let head = loop {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
        if let Some(at) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let text = std::str::from_utf8(buffer.get(..head)?).ok()?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let whole = head + length.trim().parse::<usize>().ok()?;
    while buffer.len() < whole {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    (buffer.len() == whole).then_some(())
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
