//! Requests of HTTP/1.1 that mean different things to different readers: refused, or forwarded in the
//! one shape in which they were checked.

use std::time::Duration;

use crate::client::{self, Client};
use crate::recording::{CHUNKED, GET, POST, start, statuses, statuses_of};

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
        ("the longest length of 64 bits", POST, "content-length: 18446744073709551615\r\n", 431),
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
        ("an empty item before the coding", POST, "transfer-encoding: , chunked\r\n", 501),
        ("the coding twice", POST, "transfer-encoding: chunked, chunked\r\n", 501),
        ("a coding under another", POST, "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", 501),
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
            "blanks behind a chunk size",
            format!("{CHUNKED}connection: close\r\n\r\n2 \r\nhi\r\n0\r\n\r\n"),
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
