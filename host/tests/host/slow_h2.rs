//! Clients of h2 that begin something and do not end it, frame by frame.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::client::{self, Client};
use crate::frames::{CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, frame, head, preface};
use crate::origin::{self, Origin};
use crate::process::{Host, Setup};
use crate::trust::Authority;

const SHORT: &str = "500";
/// Long enough after `SHORT` that a busy machine is no failure, and below every other clock.
const GENEROUS: Duration = Duration::from_secs(8);

async fn connect(host: &Host, bytes: Vec<u8>) -> Client<TlsStream<TcpStream>> {
    let mut client = Client(client::handshake(host.address, &["h2"]).await);
    client.send(bytes).await;
    client
}

fn starts() -> Vec<(&'static str, Vec<u8>)> {
    let head = head("GET", "/nope", &[]);
    let (first, rest) = head.split_at(4);
    vec![
        ("no preface", Vec::new()),
        ("half a preface", b"PRI * HTTP/2.0\r\n\r\nS".to_vec()),
        ("a preface and nothing else", preface()),
        ("HEADERS without END_HEADERS", [preface(), frame(HEADERS, END_STREAM, 1, first)].concat()),
        (
            "an endless sequence",
            [preface(), frame(HEADERS, END_STREAM, 1, first), frame(CONTINUATION, 0, 1, rest)].concat(),
        ),
        ("half a frame", [preface(), vec![0, 0, 20, HEADERS]].concat()),
        ("half a payload", [preface(), vec![0, 0, 20, HEADERS, 5, 0, 0, 0, 1, 0x82]].concat()),
        ("half a SETTINGS", [preface(), vec![0, 0, 6, SETTINGS, 0, 0, 0, 0, 0, 1]].concat()),
    ]
}

#[tokio::test]
async fn what_is_begun_and_not_ended_is_closed_in_the_time_of_a_head() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    for (what, bytes) in starts() {
        let start = Instant::now();
        connect(&host, bytes).await.rest().await;
        assert!(start.elapsed() >= Duration::from_millis(400) && start.elapsed() < GENEROUS, "{what}");
    }
}

#[tokio::test]
async fn a_head_behind_another_request_has_no_more_time_done_or_in_flight() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    let host = origin::setup(&authority, &[&origin])
        .flag("--env", "LB_REQUEST_TIMEOUT_MS=60000")
        .flag("--head-timeout-ms", SHORT)
        .start();
    for path in ["/nope", "/ready"] {
        let whole = frame(HEADERS, END_STREAM | END_HEADERS, 1, &head("GET", path, &[]));
        for second in [vec![0, 0, 20, HEADERS], frame(HEADERS, END_STREAM, 3, &head("GET", path, &[]))] {
            let start = Instant::now();
            let mut client = connect(&host, [preface(), whole.clone(), second].concat()).await;
            client.rest().await;
            assert!(start.elapsed() < GENEROUS, "{path}");
        }
    }
}

#[tokio::test]
async fn half_a_data_frame_is_408_in_the_time_of_the_body_and_closed_behind_it() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    let host = origin::setup(&authority, &[&origin])
        .flag("--env", "LB_REQUEST_TIMEOUT_MS=1500")
        .flag("--head-timeout-ms", SHORT)
        .start();
    let post = frame(HEADERS, END_HEADERS, 1, &head("POST", "/webhook/tg", &[("content-length", "20")]));
    let start = Instant::now();
    let mut client =
        connect(&host, [preface(), post, vec![0, 0, 20, DATA, 1, 0, 0, 0, 1, b'x']].concat()).await;
    let answer = client.rest().await;
    assert!(
        String::from_utf8_lossy(&answer).contains("timed out waiting for the request body"),
        "{answer:?}"
    );
    assert!(start.elapsed() >= Duration::from_millis(1500) && start.elapsed() < GENEROUS);
}
