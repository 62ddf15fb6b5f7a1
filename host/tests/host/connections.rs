//! Limits and clocks of client connections.

use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request};
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::mpsc;

use crate::client;
use crate::origin::{self, Origin, keep_answering, ok, read_head, write};
use crate::process::Setup;
use crate::trust::Authority;

const SHORT: &str = "300";
/// Long enough after `SHORT` that a busy machine is no failure.
const GENEROUS: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_slow_head_is_closed_in_its_time_on_http_and_tls() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    let start = Instant::now();
    let mut plain = client::plain(host.address).await;
    plain.send("GET / HTTP/1.1\r\nhost: a").await;
    assert_eq!(plain.rest().await, b"");
    let mut tls = client::tls(host.address).await;
    tls.send("GET / HTTP/1.1\r\nhost: a").await;
    assert_eq!(tls.rest().await, b"");
    assert!(start.elapsed() >= Duration::from_millis(600) && start.elapsed() < GENEROUS);
}

#[tokio::test]
async fn a_client_that_says_nothing_or_no_handshake_is_closed() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    let mut silent = client::plain(host.address).await;
    assert_eq!(silent.rest().await, b"");
    let mut half = client::plain(host.address).await;
    half.send([0x16, 3, 1]).await;
    assert_eq!(half.rest().await, b"");
}

#[tokio::test]
async fn an_idle_connection_has_another_clock_than_a_slow_head() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    let mut client = client::plain(host.address).await;
    client.send(client::request_kept_alive("/a")).await;
    assert_eq!(client.answer().await.status, 308);
    // Idle for longer than a head may take, then served; then a slow head is closed.
    client.hears_nothing_for(Duration::from_millis(900)).await;
    client.send(client::request_kept_alive("/b")).await;
    assert_eq!(client.answer().await.status, 308);
    client.send("GET / HT").await;
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_its_time() {
    let host = Setup::new().flag("--idle-timeout-ms", SHORT).start();
    let mut plain = client::plain(host.address).await;
    plain.send(client::request_kept_alive("/a")).await;
    assert_eq!(plain.answer().await.status, 308);
    assert_eq!(plain.rest().await, b"");
    // Over TLS with its own goodbye, close_notify.
    let mut tls = client::tls(host.address).await;
    tls.send(client::request_kept_alive("/a")).await;
    assert_eq!(tls.answer().await.status, 404);
    assert_eq!(tokio::io::AsyncReadExt::read(&mut tls.0, &mut [0; 1]).await.unwrap(), 0);
}

#[tokio::test]
async fn an_idle_h2_connection_is_told_to_go_away() {
    let host = Setup::new().flag("--idle-timeout-ms", SHORT).start();
    let io = TokioIo::new(client::handshake(host.address, &["h2"]).await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let request = Request::get("https://a.example/nope").body(Empty::<bytes::Bytes>::new()).unwrap();
    let connection = tokio::spawn(connection);
    assert_eq!(sender.send_request(request).await.unwrap().status().as_u16(), 404);
    // An end without GOAWAY would be an error here.
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_in_flight_outlives_both_clocks() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        tokio::time::sleep(Duration::from_millis(1200)).await;
        write(&mut stream, ok("late")).await;
    })
    .await;
    let setup = origin::setup(&authority, &[&origin]);
    let host = setup.flag("--idle-timeout-ms", SHORT).flag("--head-timeout-ms", SHORT).start();
    assert_eq!(client::get(host.address, "/ready").await.text(), "late");
}

#[tokio::test]
async fn a_head_of_too_many_fields_or_bytes_is_431() {
    let host = Setup::new().start();
    let fields = |count: usize| (0..count).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();
    for (extra, status) in [
        (fields(98), 308),
        (fields(99), 431),
        (format!("x: {}\r\n", "y".repeat(60_000)), 308),
        (format!("x: {}\r\n", "y".repeat(66_000)), 431),
    ] {
        let mut client = client::plain(host.address).await;
        client.send(format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{extra}\r\n")).await;
        assert_eq!(client.last_answer().await.status, status, "{} bytes more", extra.len());
    }
}

#[tokio::test]
async fn an_h2_head_of_too_many_fields_is_431() {
    let host = Setup::new().start();
    let io = TokioIo::new(client::handshake(host.address, &["h2"]).await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for (count, status) in [(100, 404), (101, 431)] {
        let mut request = Request::get("https://a.example/nope").body(Empty::<bytes::Bytes>::new()).unwrap();
        for n in 0..count {
            let name = HeaderName::try_from(format!("x-{n}")).unwrap();
            request.headers_mut().insert(name, HeaderValue::from_static("1"));
        }
        assert_eq!(sender.send_request(request).await.unwrap().status().as_u16(), status, "{count}");
    }
}

#[tokio::test]
async fn one_connection_too_many_waits_for_its_turn() {
    let host = Setup::new().flag("--max-connections", "1").start();
    let mut first = client::plain(host.address).await;
    first.send(client::request_kept_alive("/")).await;
    assert_eq!(first.answer().await.status, 308);
    let mut second = client::plain(host.address).await;
    second.send(client::request("GET", "/")).await;
    second.hears_nothing_for(Duration::from_millis(200)).await;
    drop(first);
    assert_eq!(second.last_answer().await.status, 308);
}

#[tokio::test]
async fn one_instance_too_many_waits_for_its_turn() {
    let authority = Authority::new();
    let (go, gone) = mpsc::channel::<()>(1);
    let gone = std::sync::Arc::new(tokio::sync::Mutex::new(gone));
    let origin = Origin::new(&authority, "a.example", move |mut stream, number| {
        let gone = std::sync::Arc::clone(&gone);
        async move {
            if number == 0 {
                read_head(&mut stream).await;
                gone.lock().await.recv().await;
                write(&mut stream, ok("first")).await;
            }
            keep_answering(stream, "second").await;
        }
    })
    .await;
    let host = origin::setup(&authority, &[&origin]).flag("--max-instances", "1").start();
    let mut first = client::tls(host.address).await;
    first.send(client::request("GET", "/ready")).await;
    crate::process::until("the first request", || origin.connections() == 1).await;
    let mut second = client::tls(host.address).await;
    second.send(client::request("GET", "/ready")).await;
    second.hears_nothing_for(Duration::from_millis(200)).await;
    go.send(()).await.unwrap();
    assert_eq!(first.last_answer().await.text(), "first");
    assert_eq!(second.last_answer().await.text(), "second");
}

#[tokio::test]
async fn an_h2_answer_that_waits_for_its_clients_window_outlives_the_idle_clock() {
    /// More than the window that a client of h2 begins with (RFC 9113 section 6.9.2).
    const LENGTH: usize = 66_000;
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, ok(&"z".repeat(LENGTH))).await;
    })
    .await;
    let host = origin::setup(&authority, &[&origin]).flag("--idle-timeout-ms", SHORT).start();
    let stream = client::handshake(host.address, &["h2"]).await;
    let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://a.example/ready").body(()).unwrap();
    let (response, _) = sender.send_request(request, true).unwrap();
    let mut body = response.await.unwrap().into_body();
    // Longer than the idle clock and a goodbye of HTTP/1.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut taken = 0;
    while let Some(data) = body.data().await {
        let length = data.unwrap().len();
        body.flow_control().release_capacity(length).unwrap();
        taken += length;
    }
    assert_eq!(taken, LENGTH);
}

#[tokio::test]
async fn a_request_that_waits_in_vain_for_an_instance_is_503() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    let host = origin::setup(&authority, &[&origin])
        .flag("--env", "LB_REQUEST_TIMEOUT_MS=30000")
        .flag("--max-instances", "1")
        .start();
    let mut first = client::tls(host.address).await;
    first.send(client::request("GET", "/ready")).await;
    crate::process::until("the first request", || origin.connections() == 1).await;
    let mut second = client::plain(host.address).await;
    second.send(client::request("GET", "/")).await;
    let answer = second.last_answer().await;
    assert_eq!((answer.status, answer.text()), (503, "no instance is free"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_slow_head_behind_another_request_is_closed_in_its_time() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    let get = client::request_kept_alive("/a");
    let sized = "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody".to_owned();
    let chunked = "POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    for first in [get.clone(), get.repeat(2), sized.clone(), chunked.to_owned(), chunked.repeat(2) + &sized] {
        for tls in [false, true] {
            let start = Instant::now();
            let bytes = format!("{first}GET / HT");
            let answers = if tls {
                let mut client = client::tls(host.address).await;
                client.send(bytes).await;
                client.rest().await
            } else {
                let mut client = client::plain(host.address).await;
                client.send(bytes).await;
                client.rest().await
            };
            let answers = String::from_utf8(answers).unwrap();
            assert_eq!(answers.matches("HTTP/1.1 ").count(), first.matches("HTTP/1.1").count(), "{first:?}");
            assert!(start.elapsed() < GENEROUS, "{first:?}");
        }
    }
}

/// Trailers that look like a complete head to one who reads them by lone LFs.
#[tokio::test]
async fn no_content_blinds_the_clock_for_a_slow_head_behind_it() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    let head = "POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let start = Instant::now();
    let mut client = client::tls(host.address).await;
    client.send(format!("{head}3\r\nabc\r\n0\r\nX: y\n\nQ\n\n\r\n\r\nGET / HT")).await;
    client.rest().await;
    assert!(start.elapsed() < GENEROUS);
}

#[tokio::test]
async fn whole_requests_leave_a_connection_idle() {
    let host = Setup::new().flag("--head-timeout-ms", SHORT).start();
    for first in [
        client::request_kept_alive("/a").repeat(2),
        "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody".to_owned(),
        "POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\na: b\r\n\r\n"
            .to_owned(),
    ] {
        let mut client = client::plain(host.address).await;
        client.send(&first).await;
        client.until("308 ").await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        client.send(client::request("GET", "/last")).await;
        assert!(String::from_utf8(client.rest().await).unwrap().contains("/last"), "{first:?}");
    }
}
