//! A client that goes away takes its request to the origin along; an origin that breaks off is
//! not covered up.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::client;
use crate::origin::{self, Origin, read_head, write};
use crate::process::{PATIENCE, until};
use crate::reports::components;
use crate::trust::Authority;

/// An origin that says `head` after the request and then waits for the connection to end.
async fn waiting(authority: &Authority, head: &'static str, ended: Arc<Notify>) -> Origin {
    Origin::new(authority, "a.example", move |mut stream, _| {
        let ended = Arc::clone(&ended);
        async move {
            read_head(&mut stream).await;
            write(&mut stream, head).await;
            // An end of any kind: close_notify, end of stream or reset.
            while let Ok(1..) = stream.read(&mut [0; 64]).await {}
            ended.notify_one();
        }
    })
    .await
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_ends_the_request_upstream() {
    let (authority, ended) = (Authority::new(), Arc::new(Notify::new()));
    let origin = waiting(&authority, "", Arc::clone(&ended)).await;
    let host = origin::host(&authority, &[&origin]);
    let mut client = client::tls(host.address).await;
    client.send(client::request("GET", "/ready")).await;
    until("the request upstream", || origin.connections() == 1).await;
    client.hears_nothing_for(std::time::Duration::from_millis(100)).await;
    drop(client);
    timeout(PATIENCE / 4, ended.notified()).await.expect("the request upstream goes on");
}

#[tokio::test]
async fn a_client_that_leaves_in_the_body_ends_the_request_upstream() {
    let (authority, ended) = (Authority::new(), Arc::new(Notify::new()));
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    let origin = waiting(&authority, head, Arc::clone(&ended)).await;
    let host = origin::host(&authority, &[&origin]);
    let mut client = client::tls(host.address).await;
    client.send(client::request("GET", "/ready")).await;
    client.until("part").await;
    drop(client);
    timeout(PATIENCE / 4, ended.notified()).await.expect("the request upstream goes on");
}

#[tokio::test]
async fn a_client_that_leaves_in_its_upload_under_an_answer_ends_the_request_upstream() {
    let (authority, ended) = (Authority::new(), Arc::new(Notify::new()));
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    let origin = waiting(&authority, head, Arc::clone(&ended)).await;
    let host = origin::host(&authority, &[&origin]);
    let mut client = client::tls(host.address).await;
    client.send("POST /webhook/tg HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf").await;
    client.until("part").await;
    drop(client);
    timeout(PATIENCE / 4, ended.notified()).await.expect("the request upstream goes on");
}

#[tokio::test]
async fn an_upload_that_its_client_leaves_never_looks_whole_to_the_origin() {
    let authority = Authority::new();
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let origin = Origin::new(&authority, "a.example", move |mut stream, _| {
        let heard = heard.clone();
        async move {
            let mut bytes = read_head(&mut stream).await.into_bytes();
            // Any end of the connection; what counts is what came before it.
            let _ = stream.read_to_end(&mut bytes).await;
            heard.send(String::from_utf8(bytes).unwrap()).unwrap();
        }
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    // Several times: the end of the body races with the end of the request.
    for number in 1..=10 {
        let mut client = client::tls(host.address).await;
        let head = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
        client.send(format!("{head}4\r\nhalf\r\n")).await;
        until("the request upstream", || origin.connections() == number).await;
        client.hears_nothing_for(std::time::Duration::from_millis(50)).await;
        drop(client);
        let upload = timeout(PATIENCE, hears.recv()).await.expect("the request upstream goes on").unwrap();
        assert!(upload.ends_with("half\r\n"), "{upload:?}");
    }
}

#[tokio::test]
async fn a_304_keeps_the_length_that_it_tells() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 304 Not Modified\r\ncontent-length: 1234\r\n\r\n").await;
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    let answer = client::get(host.address, "/assets/config.js").await;
    assert_eq!((answer.status, answer.header("content-length"), answer.text()), (304, Some("1234"), ""));
}

#[tokio::test]
async fn a_body_that_an_origin_cuts_breaks_off_for_the_client() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n",
    ] {
        let authority = Authority::new();
        let origin = Origin::new(&authority, "a.example", move |mut stream, _| async move {
            read_head(&mut stream).await;
            write(&mut stream, answer).await;
        })
        .await;
        let host = origin::host(&authority, &[&origin]);
        let got = client::get(host.address, "/ready").await;
        assert_eq!(got.status, 200);
        assert!(got.text().contains("part") && got.body.len() < 100 && !got.ends_whole(), "{got:?}");
    }
}

#[tokio::test]
async fn a_body_that_only_the_end_delimits_breaks_off_by_a_reset() {
    for (answer, whole) in [
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n", false),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n0\r\n\r\n", true),
    ] {
        let authority = Authority::new();
        let origin = Origin::new(&authority, "a.example", move |mut stream, _| async move {
            read_head(&mut stream).await;
            write(&mut stream, answer).await;
        })
        .await;
        let host = origin::setup(&authority, &[&origin]).flag("--env", "LB_TRUST_FORWARDED_PROTO=1").start();
        let mut client = client::plain(host.address).await;
        client.send("GET /ready HTTP/1.0\r\nhost: a\r\nx-forwarded-proto: https\r\n\r\n").await;
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, client.0.read_to_end(&mut bytes)).await.expect("no end");
        assert!(bytes.ends_with(b"\r\n\r\npart"), "{:?}", String::from_utf8_lossy(&bytes));
        assert_eq!(read.is_ok(), whole, "{read:?}");
    }
}

#[tokio::test]
async fn a_client_that_has_ended_its_half_still_gets_what_is_not_forwarded() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| origin::keep_answering(stream, "up")).await;
    for component in components() {
        let host = origin::setup(&authority, &[&origin]).component(component).start();
        for _ in 0..50 {
            let mut client = client::plain(host.address).await;
            client.send(client::request_kept_alive("/ready")).await;
            client.0.shutdown().await.unwrap();
            assert_eq!(client.last_answer().await.status, 308);
            for (target, status) in [("/nope", 404), ("/worker", 405), ("/healthz-worker", 200)] {
                let mut client = client::tls(host.address).await;
                client.send(client::request_kept_alive(target)).await;
                client.0.shutdown().await.unwrap();
                let answer = String::from_utf8(client.rest().await).unwrap();
                assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_has_ended_its_half_ends_the_request_upstream() {
    for component in components() {
        let (authority, ended) = (Authority::new(), Arc::new(Notify::new()));
        let origin = waiting(&authority, "", Arc::clone(&ended)).await;
        let host = origin::setup(&authority, &[&origin]).component(component).start();
        let mut client = client::tls(host.address).await;
        client.send(client::request("GET", "/ready")).await;
        until("the request upstream", || origin.connections() == 1).await;
        client.hears_nothing_for(std::time::Duration::from_millis(100)).await;
        client.0.shutdown().await.unwrap();
        timeout(PATIENCE / 4, ended.notified()).await.expect("the request upstream goes on");
    }
}
