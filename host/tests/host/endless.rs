//! Messages of HTTP/1.1 that never end, or end before they should: refused in time, never passed off as whole, and
//! no burden to others.

use std::time::Duration;

use crate::client::{self, Client};
use crate::origin;
use crate::recording::{CHUNKED, GET, POST, is_whole, recording, start, statuses, statuses_of};
use crate::trust::Authority;

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
