//! What the access log and the metrics say of requests whose way was not straight.

use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::client;
use crate::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, frame, head, preface};
use crate::origin::{self, Origin, keep_answering, read_head, write};
use crate::process::{Host, PATIENCE, until};
use crate::reports::{components, scrape};
use crate::trust::Authority;

/// Until the metrics hold this line.
async fn counts(host: &Host, line: &str) {
    let start = Instant::now();
    loop {
        let text = scrape(host).await;
        if text.contains(line) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{line} in {text}");
    }
}

#[tokio::test]
async fn the_attempt_behind_a_redirect_without_end_is_an_attempt() {
    let authority = Authority::new();
    // Its redirect leads to the very request that the next attempt makes.
    let loops = Origin::new(&authority, "a.example", |mut stream, _| async move {
        let mut count = 0;
        while !read_head(&mut stream).await.is_empty() {
            count = (count + 1) % 21;
            let to = if count == 0 { "https://b.example/ready" } else { "/ready" };
            let found = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
            write(&mut stream, found).await;
        }
    })
    .await;
    let good = Origin::new(&authority, "b.example", |stream, _| keep_answering(stream, "from b")).await;
    for component in components() {
        let host = origin::setup(&authority, &[&loops, &good])
            .component(component)
            .switch("--access-log")
            .flag("--metrics", "127.0.0.1:0")
            .start();
        // Half of all requests start at the one that redirects.
        for _ in 0..16 {
            assert_eq!(client::get(host.address, "/ready").await.text(), "from b");
        }
        until("sixteen lines", || host.announced().matches("GET /ready ").count() == 16).await;
        let announced = host.announced();
        let second = announced.matches("GET /ready 200 https://b.example 2 ").count();
        let first = announced.matches("GET /ready 200 https://b.example 1 ").count();
        assert!(second > 0 && first + second == 16, "{announced}");
        counts(&host, r#"attempts_total{origin="https://b.example"} 16"#).await;
        counts(&host, &format!(r#"attempts_total{{origin="https://a.example"}} {second}"#)).await;
        counts(&host, &format!(r#"failovers_total{{route="/ready"}} {second}"#)).await;
        counts(&host, &format!(r#"class="protocol",origin="https://a.example"}} {second}"#)).await;
    }
}

#[tokio::test]
async fn an_answer_that_its_origin_breaks_off_is_a_failure_and_shows_in_the_access_log() {
    for (class, answer, then_waits) in [
        ("reset", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\npart", false),
        ("protocol", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\nx", true),
        ("timeout", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\npart", true),
    ] {
        let authority = Authority::new();
        let origin = Origin::new(&authority, "a.example", move |mut stream, _| async move {
            read_head(&mut stream).await;
            write(&mut stream, answer).await;
            if then_waits {
                read_head(&mut stream).await;
            }
        })
        .await;
        for component in components() {
            let host = origin::setup(&authority, &[&origin])
                .component(component)
                .flag("--env", "LB_REQUEST_TIMEOUT_MS=500")
                .switch("--access-log")
                .flag("--metrics", "127.0.0.1:0")
                .start();
            assert_eq!(client::get(host.address, "/ready").await.status, 200);
            counts(&host, &format!(r#"failures_total{{class="{class}",origin="https://a.example"}} 1"#))
                .await;
            until("its line", || host.announced().contains("GET /ready 200 https://a.example 1 ")).await;
            assert!(host.announced().lines().any(|line| line.ends_with(" broken-off")), "{class}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_its_client_leaves_is_no_failure() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\npart").await;
        read_head(&mut stream).await;
    })
    .await;
    for component in components() {
        let host = origin::setup(&authority, &[&origin])
            .component(component)
            .switch("--access-log")
            .flag("--metrics", "127.0.0.1:0")
            .start();
        let mut client = client::tls(host.address).await;
        client.send(client::request("GET", "/ready")).await;
        client.until("part").await;
        drop(client);
        until("its line", || host.announced().contains("GET /ready 200 https://a.example 1 ")).await;
        assert!(!host.announced().contains("broken-off"));
        assert!(!scrape(&host).await.contains("failures_total{"));
    }
}

#[tokio::test]
async fn a_request_without_a_path_has_the_path_that_the_policy_reads() {
    for component in components() {
        let host = crate::process::Setup::new()
            .component(component)
            .switch("--access-log")
            .flag("--metrics", "127.0.0.1:0")
            .start();
        let mut client = client::tls(host.address).await;
        client
            .send("CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\nconnection: close\r\n\r\n")
            .await;
        assert_eq!(client.last_answer().await.text(), "method not allowed for /");
        until("its line", || host.announced().contains("CONNECT / 405 - 0 ")).await;
        counts(&host, r#"requests_total{route="/",status="405"} 1"#).await;
    }
}

#[tokio::test]
async fn an_upload_that_breaks_off_on_h2_has_one_status_whoever_sees_it_first() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    let length = head("POST", "/webhook/tg", &[("content-length", "5")]);
    let begin = frame(HEADERS, END_HEADERS, 1, &length);
    for component in components() {
        let host = origin::setup(&authority, &[&origin]).component(component).switch("--access-log").start();
        let mut lines = 0;
        for end in [frame(DATA, END_STREAM, 1, b"abc"), frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes())] {
            for _ in 0..10 {
                let mut stream = client::handshake(host.address, &["h2"]).await;
                stream.write_all(&[preface(), begin.clone(), end.clone()].concat()).await.unwrap();
                lines += 1;
                until("its line", || host.announced().lines().count() == lines).await;
            }
        }
        let announced = host.announced();
        assert_eq!(announced.matches("POST /webhook/tg 499 ").count(), lines, "{announced}");
    }
}
