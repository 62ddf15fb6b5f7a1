//! What becomes of a body that the component leaves unread, or that the client cuts.

use std::time::{Duration, Instant};

use h2::Reason;
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client;
use crate::origin::{self, Origin};
use crate::process::{PATIENCE, Setup};
use crate::trust::Authority;

#[tokio::test]
async fn an_early_refusal_reaches_a_client_that_uploads_first_and_reads_later() {
    let host = Setup::new().start();
    let mut client = client::tls(host.address).await;
    let body = vec![b'x'; 8 * 1024 * 1024];
    client.send(format!("POST /nope HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len())).await;
    client.send(&body).await;
    assert_eq!(client.answer().await.text(), "route not forwarded: /nope");
    // Its body was read whole, so the connection goes on.
    client.send(client::request("GET", "/nope")).await;
    assert_eq!(client.last_answer().await.status, 404);
}

#[tokio::test]
async fn draining_is_bounded_in_time() {
    let host = Setup::new().start();
    let mut client = client::tls(host.address).await;
    let start = Instant::now();
    client.send("POST /nope HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nstalled").await;
    let answer = client.last_answer().await;
    assert_eq!(answer.status, 404);
    assert!(start.elapsed() >= Duration::from_secs(4) && start.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn draining_is_bounded_in_bytes() {
    let host = Setup::new().start();
    let mut client = client::tls(host.address).await;
    client.send("POST /nope HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n").await;
    assert!(client.until("route not forwarded").await.contains("404"));
    let chunk = vec![b'x'; 1024 * 1024];
    let mut sent = 0;
    while sent < 200 && client.0.write_all(&chunk).await.is_ok() {
        sent += 1;
    }
    assert!((10..200).contains(&sent), "{sent} MiB were taken");
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_is_refused_without_it() {
    let host = Setup::new().start();
    let mut client = client::tls(host.address).await;
    let start = Instant::now();
    client.send("POST /nope HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n").await;
    let answer = client.last_answer().await;
    assert_eq!(answer.status, 404);
    assert!(start.elapsed() < Duration::from_secs(4), "nothing to drain");
}

#[tokio::test]
async fn an_upload_that_an_h2_client_resets_is_not_whole_for_the_origin() {
    for reason in [Reason::NO_ERROR, Reason::CANCEL] {
        let authority = Authority::new();
        let (sender, mut seen) = mpsc::unbounded_channel();
        let origin = Origin::new(&authority, "a.example", move |mut stream, _| {
            let sender = sender.clone();
            async move {
                let mut bytes = Vec::new();
                while let Ok(1..) = stream.read_buf(&mut bytes).await {
                    if bytes.ends_with(b"part\r\n") {
                        sender.send(bytes.clone()).unwrap();
                    }
                }
                sender.send(bytes).unwrap();
            }
        })
        .await;
        let host = origin::host(&authority, &[&origin]);
        let io = client::handshake(host.address, &["h2"]).await;
        let (mut client, connection) = h2::client::handshake(io).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post("https://a.example/webhook/tg").body(()).unwrap();
        let (_answer, mut upload) = client.send_request(request, false).unwrap();
        upload.send_data("part".into(), false).unwrap();
        timeout(PATIENCE, seen.recv()).await.expect("the upload reached the origin").unwrap();
        upload.send_reset(reason);
        let last = timeout(PATIENCE, seen.recv()).await.expect("the exchange ended").unwrap();
        let last = String::from_utf8(last).unwrap();
        assert!(last.contains("part") && !last.ends_with("0\r\n\r\n"), "{reason:?}: {last}");
    }
}
