//! Requests of HTTP/1.1 that mean different things to different readers: refused, or forwarded in the
//! one shape in which they were checked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::client::{self, Client};
use crate::origin::{self, Origin, write};
use crate::process::Host;
use crate::trust::Authority;

/// All that an origin has read.
type Seen = Arc<Mutex<Vec<u8>>>;

/// An origin that keeps what it reads, and answers each message that is whole.
async fn recording(authority: &Authority) -> (Origin, Seen) {
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

fn is_whole(message: &str) -> bool {
    let Some((head, body)) = message.split_once("\r\n\r\n") else { return false };
    match head.split_once("content-length: ") {
        _ if head.contains("transfer-encoding") => body.ends_with("0\r\n\r\n"),
        Some((_, length)) => body.len() >= length.lines().next().unwrap().parse().unwrap(),
        None => true,
    }
}

/// The statuses of all answers until the host ends the connection.
async fn statuses(host: &Host, request: &[u8]) -> Vec<u16> {
    let mut client = client::tls(host.address).await;
    // The host may refuse and close before all of it is sent.
    let _ = tokio::io::AsyncWriteExt::write_all(&mut client.0, request).await;
    statuses_of(&client.rest().await)
}

fn statuses_of(answers: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(answers);
    text.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].parse().unwrap()).collect()
}

async fn start() -> (Host, Seen) {
    let authority = Authority::new();
    let (origin, seen) = recording(&authority).await;
    let host = origin::setup(&authority, &[&origin]).flag("--env", "LB_REQUEST_TIMEOUT_MS=1000").start();
    (host, seen)
}

const POST: &str = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\n";
const CHUNKED: &str = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n";
const GET: &str = "GET /ready HTTP/1.1\r\nhost: a\r\n";
/// Were it read as a request of its own, it would be answered.
const SMUGGLED: &str = "GET /api/status HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn an_ambiguous_head_is_refused_and_reaches_no_origin() {
    let (host, seen) = start().await;
    for (what, head, fields, status) in [
        ("lengths that differ", POST, "content-length: 2\r\ncontent-length: 3\r\n", 400),
        ("lengths in a list", POST, "content-length: 2, 2\r\n", 400),
        ("a signed length", POST, "content-length: +2\r\n", 400),
        ("a negative length", POST, "content-length: -2\r\n", 400),
        ("a hexadecimal length", POST, "content-length: 0x2\r\n", 400),
        ("an empty length", POST, "content-length:\r\n", 400),
        ("a length beyond 64 bits", POST, "content-length: 18446744073709551618\r\n", 400),
        ("an obscured coding", POST, "transfer-encoding: xchunked\r\ncontent-length: 2\r\n", 400),
        (
            "a coding behind a control byte",
            POST,
            "transfer-encoding:\x0bchunked\r\ncontent-length: 2\r\n",
            400,
        ),
        ("a quoted coding", POST, "transfer-encoding: \"chunked\"\r\n", 400),
        ("an empty coding", POST, "transfer-encoding:\r\ncontent-length: 2\r\n", 400),
        (
            "an empty item before the coding",
            POST,
            "connection: close\r\ntransfer-encoding: , chunked\r\n",
            501,
        ),
        ("a space before the colon", POST, "transfer-encoding : chunked\r\ncontent-length: 2\r\n", 400),
        ("a folded line", POST, "x-a: 1\r\n transfer-encoding: chunked\r\ncontent-length: 2\r\n", 400),
        ("a bare CR in a value", GET, "x-a: 1\r2\r\n", 400),
        ("a NUL in a value", GET, "x-a: 1\x002\r\n", 400),
        ("a space in a name", GET, "x a: 1\r\n", 400),
        ("no name", GET, ": 1\r\n", 400),
        ("no colon", GET, "x-a\r\n", 400),
        ("a first line that is folded", "GET /ready HTTP/1.1\r\n", " host: a\r\n", 400),
        ("a bare CR for a line end", "GET /ready HTTP/1.1\rhost: a\r\n", "", 400),
        ("no version", "GET /ready\r\n", "", 400),
        ("another version", "GET /ready HTTP/1.2\r\nhost: a\r\n", "", 400),
        ("chunks of HTTP/1.0", "POST /worker HTTP/1.0\r\nhost: a\r\n", "transfer-encoding: chunked\r\n", 400),
    ] {
        let request = format!("{head}{fields}\r\n2\r\nhi\r\n0\r\n\r\n{SMUGGLED}");
        assert_eq!(statuses(&host, request.as_bytes()).await, [status], "{what}");
        assert!(seen.lock().unwrap().is_empty(), "{what}: {:?}", seen.lock().unwrap());
    }
}

#[tokio::test]
async fn what_has_one_meaning_alone_is_forwarded_in_that_shape() {
    const TAKEN: &str = "POST /webhook/tg HTTP/1.1\r\nhost: a.example\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    let (host, seen) = start().await;
    for (what, request, forwarded) in [
        (
            "equal lengths",
            format!("{POST}content-length: 2\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"),
            "POST /webhook/tg HTTP/1.1\r\ncontent-length: 2\r\nhost: a.example\r\n\r\nhi",
        ),
        // RFC 9112 section 6.1: and the connection ends, so that what follows is nobody's request.
        (
            "a length before chunks",
            format!(
                "{POST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n{SMUGGLED}"
            ),
            TAKEN,
        ),
        (
            "a length behind chunks",
            format!("{CHUNKED}content-length: 3\r\n\r\n2\r\nhi\r\n0\r\n\r\n{SMUGGLED}"),
            TAKEN,
        ),
        (
            "chunk extensions",
            format!("{CHUNKED}connection: close\r\n\r\n2;a=\"b;c\"\r\nhi\r\n0;d\r\n\r\n"),
            TAKEN,
        ),
        (
            "trailers",
            format!("{CHUNKED}connection: close\r\n\r\n2\r\nhi\r\n0\r\nhost: evil\r\nx-t: 1\r\n\r\n"),
            TAKEN,
        ),
        (
            "bare LF for line ends",
            "GET /ready HTTP/1.1\nhost: a\nconnection: close\nx-a: 1\n\n".to_owned(),
            "GET /ready HTTP/1.1\r\nx-a: 1\r\nhost: a.example\r\n\r\n",
        ),
        (
            "a request in the body of a GET",
            format!("{GET}content-length: {}\r\nconnection: close\r\n\r\n{SMUGGLED}", SMUGGLED.len()),
            "GET /ready HTTP/1.1\r\nhost: a.example\r\n\r\n",
        ),
    ] {
        assert_eq!(statuses(&host, request.as_bytes()).await, [200], "{what}");
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(String::from_utf8(seen).unwrap(), forwarded, "{what}");
    }
}

#[tokio::test]
async fn a_badly_framed_body_ends_whole_nowhere() {
    let (host, seen) = start().await;
    let long = "a".repeat(100_000);
    for (what, body) in [
        ("a size beyond 64 bits", "ffffffffffffffff1\r\nhi\r\n0\r\n\r\n"),
        ("a signed size", "-2\r\nhi\r\n0\r\n\r\n"),
        ("a size with a prefix", "0x2\r\nhi\r\n0\r\n\r\n"),
        ("no size", "\r\nhi\r\n0\r\n\r\n"),
        ("a bare LF behind a size", "2\nhi\r\n0\r\n\r\n"),
        ("a bare LF in an extension", "2;a\nhi\r\n0\r\n\r\n"),
        ("a long extension", &format!("2;{long}\r\nhi\r\n0\r\n\r\n")),
        ("a bare LF behind a chunk", "2\r\nhi\n0\r\n\r\n"),
        ("a chunk longer than its size", "2\r\nhi!\r\n0\r\n\r\n"),
        ("an end without its empty line", "0\r\n"),
        ("a malformed trailer", "2\r\nhi\r\n0\r\nx t : 1\r\n\r\n"),
        ("a bare LF behind the last size", "2\r\nhi\r\n0\n\r\n"),
        ("a bare LF for the empty line", "2\r\nhi\r\n0\r\n\n"),
        ("a bare LF behind a trailer", "2\r\nhi\r\n0\r\nx: y\n\r\n"),
        ("an empty line of bare LFs", "2\r\nhi\r\n0\r\nx: y\n\n"),
        ("more than one of them", "2\r\nhi\r\n0\r\nx: y\n\nq\n\n\r\n\r\n"),
        ("a long trailer section", &format!("2\r\nhi\r\n0\r\nx-t: {long}\r\n\r\n")),
    ] {
        let request = format!("{CHUNKED}\r\n{body}{SMUGGLED}");
        let statuses = statuses(&host, request.as_bytes()).await;
        // What comes behind a refusal unread may have the client's system drop the answer.
        let is_lost = statuses.is_empty() && body.len() > 50_000;
        assert!(statuses == [400] || is_lost, "{what}: {statuses:?}");
        let seen = String::from_utf8(std::mem::take(&mut *seen.lock().unwrap())).unwrap();
        assert!(!seen.ends_with("0\r\n\r\n") && !seen.contains("/api/status"), "{what}: {seen}");
    }
}

/// What one reader takes for the end of a trailer section, another takes for the middle of it.
#[tokio::test]
async fn nothing_behind_a_bare_lf_in_trailers_is_read_in_either_way() {
    let (host, seen) = start().await;
    let body = "2\r\nhi\r\n0\r\nx: y\n\n";
    for (target, tls) in [("/webhook/tg", true), ("/nope", true), ("/webhook/tg", false)] {
        let request = format!("POST {target} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
        // With the head, and behind it.
        for pieces in [vec![format!("{request}{body}{SMUGGLED}")], vec![request, format!("{body}{SMUGGLED}")]]
        {
            let answers = if tls {
                let mut client = client::tls(host.address).await;
                say_in_pieces(&mut client, &pieces).await
            } else {
                let mut client = client::plain(host.address).await;
                say_in_pieces(&mut client, &pieces).await
            };
            // An early answer is given before the body has come.
            let expected = match pieces.len() {
                1 => 400,
                _ if !tls => 308,
                _ if target == "/nope" => 404,
                _ => 400,
            };
            assert_eq!(answers, [expected], "{pieces:?}");
            let seen = String::from_utf8(std::mem::take(&mut *seen.lock().unwrap())).unwrap();
            assert!(!seen.ends_with("0\r\n\r\n") && !seen.contains("/api/status"), "{seen}");
        }
    }
}

async fn say_in_pieces<S>(client: &mut Client<S>, pieces: &[String]) -> Vec<u16>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    for piece in pieces {
        client.send(piece).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    statuses_of(&client.rest().await)
}

#[tokio::test]
async fn the_preface_of_h2_on_http1_ends_the_connection() {
    let (host, _) = start().await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert!(statuses(&host, preface.as_bytes()).await.is_empty());
    let mut client = client::plain(host.address).await;
    client.send(preface).await;
    assert!(statuses_of(&client.rest().await).is_empty());
}

#[tokio::test]
async fn a_target_has_at_most_65534_bytes_whatever_the_flags_say() {
    let host = crate::process::Setup::new().flag("--max-head-bytes", "1048576").start();
    for (length, status) in [(65_534, 404), (65_535, 414)] {
        let target = format!("/{}", "y".repeat(length - 1));
        let request = format!("GET {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        assert_eq!(statuses(&host, request.as_bytes()).await, [status], "{length}");
    }
}

#[tokio::test]
async fn a_body_that_promises_more_than_comes_is_408_and_ends_whole_nowhere() {
    let (host, seen) = start().await;
    for request in [
        format!("{POST}content-length: 9\r\n\r\nhi"),
        format!("{CHUNKED}\r\nffffffffffffffff\r\nhi\r\n0\r\n\r\n"),
    ] {
        assert_eq!(statuses(&host, request.as_bytes()).await, [408], "{request}");
        let seen = String::from_utf8(std::mem::take(&mut *seen.lock().unwrap())).unwrap();
        assert!(!is_whole(&seen), "{seen}");
    }
}

#[tokio::test]
async fn a_head_without_measure_is_refused_before_it_has_ended() {
    let (host, seen) = start().await;
    let fields: String = (0..100_000).map(|n| format!("x-{n}: 1\r\n")).collect();
    for (what, request) in [
        ("100 000 fields", format!("{GET}{fields}")),
        ("a field of 1 MB", format!("{GET}x-a: {}", "y".repeat(1_000_000))),
        ("a name of 1 MB", format!("{GET}{}", "y".repeat(1_000_000))),
        ("an endless target", format!("GET /{}", "y".repeat(1_000_000))),
        ("an endless method", "Y".repeat(1_000_000)),
        ("endless empty lines", "\r\n".repeat(500_000)),
    ] {
        let statuses = statuses(&host, request.as_bytes()).await;
        assert!(
            [[431].as_slice(), &[414], &[400], &[]].contains(&statuses.as_slice()),
            "{what}: {statuses:?}"
        );
        assert!(seen.lock().unwrap().is_empty(), "{what}");
    }
    assert_eq!(client::get(host.address, "/ready").await.status, 200);
}

#[tokio::test]
async fn a_client_that_ends_its_half_in_a_message_is_answered_or_let_go() {
    let (host, seen) = start().await;
    for (request, answers) in [
        (format!("{GET}x-a: "), vec![]),
        (format!("{POST}content-length: 9\r\n\r\nhi"), vec![400]),
        (format!("{CHUNKED}\r\n2\r\nhi\r\n"), vec![400]),
    ] {
        let Client(mut stream) = client::plain(host.address).await;
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
        tokio::io::AsyncWriteExt::shutdown(&mut stream).await.unwrap();
        let got = statuses_of(&Client(stream).rest().await);
        // Plain http: where a head was whole, it is sent to https.
        let expected = if answers.is_empty() { vec![] } else { vec![308] };
        assert!(got == expected || got.is_empty(), "{request}: {got:?}");
        let mut tls = client::tls(host.address).await;
        tls.send(&request).await;
        tokio::io::AsyncWriteExt::shutdown(&mut tls.0).await.unwrap();
        let got = statuses_of(&tls.rest().await);
        assert!(got == answers || got.is_empty(), "{request}: {got:?}");
    }
    let seen = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    assert!(!seen.contains("0\r\n\r\n"), "{seen}");
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_holds_no_other_client_up() {
    let authority = Authority::new();
    let (origin, _) = recording(&authority).await;
    let host = origin::setup(&authority, &[&origin]).start();
    let mut slow = client::tls(host.address).await;
    slow.send(format!("{POST}content-length: 20\r\nconnection: close\r\n\r\n")).await;
    for _ in 0..20 {
        slow.send("x").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(client::get(host.address, "/ready").await.status, 200);
    }
    assert_eq!(slow.last_answer().await.text(), "taken");
}
