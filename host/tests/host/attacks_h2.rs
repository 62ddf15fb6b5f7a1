//! Frames of h2 that no honest client sends: the stream or the connection ends, and no origin sees a
//! whole request of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::client;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, block, frame, head,
    preface,
};
use crate::origin::{self, Origin, ok, read_head, write};
use crate::process::{Host, PATIENCE};
use crate::trust::Authority;

/// How the host ended what was sent.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// RST_STREAM, GOAWAY, or the end of the connection.
    Refused,
    /// A head for the first stream.
    Answered,
}

/// Sends and reads until it is clear how the host takes it.
async fn say(host: &Host, bytes: &[u8]) -> End {
    let stream = client::handshake(host.address, &["h2"]).await;
    let (mut incoming, mut outgoing) = tokio::io::split(stream);
    let bytes = bytes.to_vec();
    let sending = tokio::spawn(async move {
        // The host may close before all of it is sent.
        let _ = outgoing.write_all(&bytes).await;
        let _ = outgoing.flush().await;
        outgoing
    });
    let judged = async {
        let mut head = [0; 9];
        while incoming.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            if incoming.read_exact(&mut payload).await.is_err() {
                break;
            }
            match head[3] {
                HEADERS => return End::Answered,
                RST_STREAM | GOAWAY => return End::Refused,
                _ => {}
            }
        }
        End::Refused
    };
    let end = timeout(PATIENCE, judged).await.expect("the host left the client waiting");
    sending.abort();
    end
}

const GOAWAY: u8 = 7;
const WHOLE: u8 = END_STREAM | END_HEADERS;

/// An origin that counts the requests that came whole.
async fn counting(authority: &Authority) -> (Origin, Arc<AtomicUsize>) {
    let whole = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&whole);
    let origin = Origin::new(authority, "a.example", move |mut stream, _| {
        let counter = Arc::clone(&counter);
        async move {
            loop {
                let head = read_head(&mut stream).await;
                if head.is_empty() {
                    return;
                }
                let length = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
                let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
                if stream.read_exact(&mut body).await.is_err() {
                    return;
                }
                counter.fetch_add(1, Ordering::SeqCst);
                write(&mut stream, ok("taken")).await;
            }
        }
    })
    .await;
    (origin, whole)
}

#[tokio::test]
async fn a_malformed_request_is_reset_and_reaches_no_origin() {
    let authority = Authority::new();
    let (origin, whole) = counting(&authority).await;
    let host = origin::host(&authority, &[&origin]);
    let get = |fields: &[(&str, &str)]| head("GET", "/ready", fields);
    let pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/ready")];
    for (what, block) in [
        ("an upper-case name", get(&[("X-Upper", "1")])),
        ("connection", get(&[("connection", "close")])),
        ("transfer-encoding", get(&[("transfer-encoding", "chunked")])),
        ("keep-alive", get(&[("keep-alive", "5")])),
        ("upgrade", get(&[("upgrade", "websocket")])),
        ("te other than trailers", get(&[("te", "gzip")])),
        ("CR and LF in a value", get(&[("x-a", "1\r\nx-b: 2")])),
        ("NUL in a value", get(&[("x-a", "1\x002")])),
        ("a space in a name", get(&[("x a", "1")])),
        ("a colon in a name", get(&[("x:a", "1")])),
        ("an empty name", get(&[("", "1")])),
        ("a pseudo-header behind a field", block(&[&[("x-a", "1")], pseudo.as_slice()].concat())),
        ("an unknown pseudo-header", block(&[pseudo.as_slice(), &[(":secret", "1")]].concat())),
        ("a response's pseudo-header", block(&[pseudo.as_slice(), &[(":status", "200")]].concat())),
        ("a repeated :path", block(&[pseudo.as_slice(), &[(":path", "/worker")]].concat())),
        ("a repeated :method", block(&[pseudo.as_slice(), &[(":method", "POST")]].concat())),
        ("no :path", block(&pseudo[..3])),
        ("no :method", block(&pseudo[1..])),
        ("an empty :path", head("GET", "", &[])),
        ("a :path with a space", head("GET", "/ready HTTP/1.1", &[])),
        ("a :path with CR and LF", head("GET", "/ready\r\nx-a: 1", &[])),
        ("a :method with a space", head("GET /ready", "/ready", &[])),
        ("no HPACK at all", vec![0xff; 20]),
    ] {
        let bytes = [preface(), frame(HEADERS, WHOLE, 1, &block)].concat();
        assert_eq!(say(&host, &bytes).await, End::Refused, "{what}");
    }
    assert_eq!(whole.load(Ordering::SeqCst), 0);
    assert_eq!(client::get(host.address, "/ready").await.status, 200);
}

#[tokio::test]
async fn a_length_that_the_data_does_not_have_ends_whole_nowhere() {
    let authority = Authority::new();
    let (origin, whole) = counting(&authority).await;
    let host = origin::host(&authority, &[&origin]);
    for (what, length, data, flags) in [
        ("less than told", "9", "hi", END_STREAM),
        ("more than told", "1", "hi", END_STREAM),
        ("more than told, and more to come", "1", "hi", 0),
        ("no number", "2x", "hi", END_STREAM),
        ("two numbers", "2, 2", "hi", END_STREAM),
    ] {
        let head = head("POST", "/worker", &[("content-length", length)]);
        let bytes =
            [preface(), frame(HEADERS, END_HEADERS, 1, &head), frame(DATA, flags, 1, data.as_bytes())];
        assert_eq!(say(&host, &bytes.concat()).await, End::Refused, "{what}");
    }
    assert_eq!(whole.load(Ordering::SeqCst), 0);
    assert_eq!(client::get(host.address, "/ready").await.status, 200);
}

#[tokio::test]
async fn a_flood_of_frames_is_cut_off_and_the_host_goes_on_serving() {
    let authority = Authority::new();
    let (origin, _) = counting(&authority).await;
    let host = origin::host(&authority, &[&origin]);
    let get = head("GET", "/ready", &[]);
    let resets = (0..20_000_u32).flat_map(|n| {
        [frame(HEADERS, WHOLE, 2 * n + 1, &get), frame(RST_STREAM, 0, 2 * n + 1, &8_u32.to_be_bytes())]
    });
    let field = block(&[("x-a", &"y".repeat(1000))]);
    let headers = [frame(HEADERS, END_STREAM, 1, &get), frame(CONTINUATION, 0, 1, &field).repeat(20_000)];
    let empty = [frame(HEADERS, END_STREAM, 1, &get), frame(CONTINUATION, 0, 1, &[]).repeat(100_000)];
    for (what, flood) in [
        ("rapid reset", resets.collect::<Vec<_>>().concat()),
        ("CONTINUATION without end", headers.concat()),
        ("empty CONTINUATION without end", empty.concat()),
        ("a frame larger than allowed", frame(DATA, 0, 1, &vec![0; 1 << 20])),
    ] {
        assert_eq!(say(&host, &[preface(), flood].concat()).await, End::Refused, "{what}");
        assert_eq!(client::get(host.address, "/ready").await.status, 200, "after {what}");
    }
}

#[tokio::test]
async fn a_client_that_floods_and_does_not_read_is_read_no_further() {
    let authority = Authority::new();
    let (origin, _) = counting(&authority).await;
    let host = origin::setup(&authority, &[&origin]).flag("--head-timeout-ms", "3000").start();
    for (what, one) in
        [("SETTINGS", frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 255, 255])), ("PING", frame(PING, 0, 0, &[0; 8]))]
    {
        let mut stream = client::handshake(host.address, &["h2"]).await;
        stream.write_all(&preface()).await.unwrap();
        let flood = one.repeat(10_000);
        // Either the host stops reading or it ends the connection: it does not take it all.
        let taken = async {
            let mut floods = 0;
            while floods < 300 && stream.write_all(&flood).await.is_ok() {
                floods += 1;
            }
            floods
        };
        let taken = timeout(PATIENCE, taken).await;
        assert!(taken.is_err() || taken.as_ref().is_ok_and(|taken| *taken < 300), "{what}: {taken:?}");
        assert_eq!(client::get(host.address, "/ready").await.status, 200, "after {what}");
    }
}
