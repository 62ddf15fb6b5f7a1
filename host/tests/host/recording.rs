//! An origin that keeps what it reads, and what a client says to a host in front of it.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncReadExt;

use crate::client;
use crate::origin::{self, Origin, write};
use crate::process::Host;
use crate::trust::Authority;

/// All that an origin has read.
pub(crate) type Seen = Arc<Mutex<Vec<u8>>>;

/// An origin that keeps what it reads, and answers each message that is whole.
pub(crate) async fn recording(authority: &Authority) -> (Origin, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let origin = Origin::new(authority, "a.example", move |mut stream, _| {
        let kept = Arc::clone(&kept);
        async move {
            let mut bytes = Vec::new();
            loop {
                let before = bytes.len();
                let Ok(1..) = stream.read_buf(&mut bytes).await else { return };
                kept.lock().unwrap().extend_from_slice(&bytes[before..]);
                if is_whole(&String::from_utf8_lossy(&bytes)) {
                    bytes.clear();
                    write(&mut stream, origin::ok("taken")).await;
                }
            }
        }
    })
    .await;
    (origin, seen)
}

pub(crate) fn is_whole(message: &str) -> bool {
    let Some((head, body)) = message.split_once("\r\n\r\n") else { return false };
    match head.split_once("content-length: ") {
        _ if head.contains("transfer-encoding") => body.ends_with("0\r\n\r\n"),
        Some((_, length)) => body.len() >= length.lines().next().unwrap().parse().unwrap(),
        None => true,
    }
}

/// The statuses of all answers until the host ends the connection.
pub(crate) async fn statuses(host: &Host, request: &[u8]) -> Vec<u16> {
    let mut client = client::tls(host.address).await;
    // The host may refuse and close before all of it is sent.
    let _ = tokio::io::AsyncWriteExt::write_all(&mut client.0, request).await;
    statuses_of(&client.rest().await)
}

pub(crate) fn statuses_of(answers: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(answers);
    text.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].parse().unwrap()).collect()
}

pub(crate) async fn start() -> (Host, Seen) {
    let authority = Authority::new();
    let (origin, seen) = recording(&authority).await;
    let host = origin::setup(&authority, &[&origin]).flag("--env", "LB_REQUEST_TIMEOUT_MS=1000").start();
    (host, seen)
}

pub(crate) const POST: &str = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\n";
pub(crate) const CHUNKED: &str = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n";
pub(crate) const GET: &str = "GET /ready HTTP/1.1\r\nhost: a\r\n";
