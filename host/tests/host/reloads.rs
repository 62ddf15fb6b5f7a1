//! What is on its way when SIGHUP replaces the configuration comes to its end, on either build, and what
//! served it ends then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use crate::client;
use crate::origin::{self, Origin, Stream, keep_answering, read_head, write};
use crate::process::{Host, PATIENCE, Setup, of_each_build};
use crate::trust::Authority;

type Client = client::Client<TlsStream<TcpStream>>;

/// An origin on whose connection a test speaks.
async fn led(authority: &Authority) -> (Origin, mpsc::UnboundedReceiver<Stream>) {
    let (sender, connections) = mpsc::unbounded_channel();
    let origin = Origin::new(authority, "a.example", move |stream, _| {
        let sender = sender.clone();
        async move { sender.send(stream).unwrap() }
    })
    .await;
    (origin, connections)
}

/// The next request at the origin.
async fn request(connections: &mut mpsc::UnboundedReceiver<Stream>) -> Stream {
    let mut stream = timeout(PATIENCE, connections.recv()).await.expect("no request upstream").unwrap();
    read_head(&mut stream).await;
    stream
}

/// Asks for a page; the request is at the origin.
async fn asked(host: &Host, connections: &mut mpsc::UnboundedReceiver<Stream>) -> (Client, Stream) {
    let mut client = client::tls(host.address).await;
    client.send(client::request("GET", "/ready")).await;
    let upstream = request(connections).await;
    (client, upstream)
}

/// Begins a download of 8 bytes, of which 4 have come.
async fn begun(host: &Host, connections: &mut mpsc::UnboundedReceiver<Stream>) -> (Client, Stream) {
    let (mut client, mut upstream) = asked(host, connections).await;
    write(&mut upstream, "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n0123").await;
    client.until("0123").await;
    (client, upstream)
}

/// A host in front of these origins whose variables can change.
fn setup(authority: &Authority, origins: &[&Origin]) -> Setup {
    reloadable(origin::setup(authority, origins))
}

fn reloadable(setup: Setup) -> Setup {
    let file = setup.file("variables");
    std::fs::write(&file, "LB_VERSION=0").unwrap();
    setup.flag("--env-file", file)
}

/// Puts a newer configuration in force; it is the one of this number.
async fn reconfigure(host: &Host, number: usize) {
    std::fs::write(host.file("variables"), format!("LB_VERSION={number}")).unwrap();
    host.signal(Signal::HUP);
    host.says("messageweave-lb: reloaded", number).await;
}

/// Reloads, and waits until a newer configuration serves and the older one has had time to end.
async fn reload(host: &Host, number: usize) {
    reconfigure(host, number).await;
    assert_eq!(client::get(host.address, "/nope").await.status, 404);
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn an_answer_survives_reloads_before_its_head_and_in_its_body() {
    for (head, body, end) in [
        ("content-length: 8", ["0123", "4567"], ""),
        ("transfer-encoding: chunked", ["4\r\n0123\r\n", "4\r\n4567\r\n"], "0\r\n\r\n"),
    ] {
        let authority = Authority::new();
        let (origin, mut connections) = led(&authority).await;
        for host in of_each_build(|| setup(&authority, &[&origin])) {
            let (mut client, mut upstream) = asked(&host, &mut connections).await;
            reload(&host, 1).await;
            write(&mut upstream, format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n")).await;
            reload(&host, 2).await;
            write(&mut upstream, body[0]).await;
            let start = client.until("0123").await;
            reload(&host, 3).await;
            write(&mut upstream, body[1]).await;
            reload(&host, 4).await;
            write(&mut upstream, end).await;
            let rest = String::from_utf8(client.rest().await).unwrap();
            assert!(
                start.contains("200 OK") && rest.contains("4567") && rest.ends_with(&[body[1], end].concat())
            );
        }
    }
}

#[tokio::test]
async fn an_upload_survives_reloads_before_and_after_the_head_of_its_answer() {
    let authority = Authority::new();
    let (origin, mut connections) = led(&authority).await;
    for host in of_each_build(|| setup(&authority, &[&origin])) {
        let mut client = client::tls(host.address).await;
        let fields = "host: a\r\nconnection: close\r\ncontent-length: 12";
        client.send(format!("POST /webhook/tg HTTP/1.1\r\n{fields}\r\n\r\n0123")).await;
        let mut upstream = request(&mut connections).await;
        let mut upload = [0; 12];
        upstream.read_exact(&mut upload[..4]).await.unwrap();
        reload(&host, 1).await;
        client.send("4567").await;
        upstream.read_exact(&mut upload[4..8]).await.unwrap();
        write(&mut upstream, "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n0123").await;
        client.until("0123").await;
        reload(&host, 2).await;
        client.send("89ab").await;
        upstream.read_exact(&mut upload[8..]).await.unwrap();
        assert_eq!(&upload, b"0123456789ab");
        reload(&host, 3).await;
        write(&mut upstream, "4567").await;
        assert_eq!(client.rest().await, b"4567");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_a_reload_breaks_off_for_the_client() {
    let authority = Authority::new();
    let (origin, mut connections) = led(&authority).await;
    for host in of_each_build(|| setup(&authority, &[&origin])) {
        let (mut client, mut upstream) = asked(&host, &mut connections).await;
        write(&mut upstream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n0123\r\n").await;
        client.until("0123").await;
        reload(&host, 1).await;
        upstream.shutdown().await.unwrap();
        drop(upstream);
        assert!(!String::from_utf8_lossy(&client.rest().await).ends_with("0\r\n\r\n"));
    }
}

#[tokio::test]
async fn a_client_that_leaves_after_a_reload_ends_the_request_upstream() {
    let authority = Authority::new();
    let (origin, mut connections) = led(&authority).await;
    for host in of_each_build(|| setup(&authority, &[&origin])) {
        let (client, mut upstream) = begun(&host, &mut connections).await;
        reload(&host, 1).await;
        drop(client);
        // An end of any kind.
        let end = timeout(PATIENCE / 4, upstream.read(&mut [0; 64])).await;
        assert!(matches!(end, Ok(Ok(0) | Err(_))), "the request upstream goes on: {end:?}");
    }
}

/// More than there are slots for.
const RELOADS: usize = 20;

#[tokio::test]
async fn what_served_an_old_configuration_ends_with_its_last_answer() {
    let authority = Authority::new();
    let (origin, mut connections) = led(&authority).await;
    for host in of_each_build(|| setup(&authority, &[&origin]).flag("--max-instances", "3")) {
        for times in 1..=RELOADS {
            let (mut client, mut upstream) = begun(&host, &mut connections).await;
            reconfigure(&host, times).await;
            write(&mut upstream, "4567").await;
            assert_eq!(client.rest().await, b"4567");
        }
        assert!(
            !host.stderr().contains("failed") && !host.stderr().contains("break off"),
            "{}",
            host.stderr()
        );
    }
}

#[tokio::test]
async fn slow_answers_of_many_old_configurations_cost_a_new_request_nothing() {
    let authority = Authority::new();
    let (origin, mut connections) = led(&authority).await;
    for host in of_each_build(|| {
        let setup = setup(&authority, &[&origin]);
        setup.flag("--env", "LB_REQUEST_TIMEOUT_MS=60000")
    }) {
        let mut begun_before = Vec::new();
        for times in 1..=RELOADS {
            begun_before.push(begun(&host, &mut connections).await);
            reconfigure(&host, times).await;
        }
        begun_before.push(begun(&host, &mut connections).await);
        let told = host.stderr().matches("too many newer ones: they break off").count();
        // A shared instance lives as long as its last answer, so the oldest may break off. In the other world
        // each answer has its own, and nothing is short.
        for (number, (mut client, mut upstream)) in begun_before.into_iter().enumerate() {
            let taken = upstream.write_all(b"4567").await.and(upstream.flush().await).is_ok();
            let rest = client.rest().await;
            assert!((taken && rest == b"4567") || (number < told && rest.is_empty()), "{number}: {rest:?}");
        }
        assert!(told < RELOADS / 2 && !host.stderr().contains("failed"), "{}", host.stderr());
    }
}

#[tokio::test]
async fn counts_stay_over_a_reload_unless_what_they_depend_on_changes() {
    let limit = r#"{"key":"ip","client_address":{"header":"x-from"},"limit":2,"window_s":86400}"#;
    let routes = r#"[{"path":"/ready","methods":["GET"],"limit":"page"}]"#;
    let policy = format!(r#"LB_POLICY_JSON={{"version":1,"routes":{routes},"limits":{{"page":{limit}}}}}"#);
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "page")).await;
    for host in of_each_build(|| setup(&authority, &[&origin]).flag("--env", &policy)) {
        let left = async || {
            let answer = client::get(host.address, "/ready").await;
            answer.header("x-ratelimit-remaining").unwrap().to_owned()
        };
        assert_eq!(left().await, "1");
        // Without a certificate of its own the host makes another one now.
        host.signal(Signal::HUP);
        host.says("messageweave-lb: reloaded", 1).await;
        assert_eq!(left().await, "0");
        reconfigure(&host, 2).await;
        assert_eq!(left().await, "1");
    }
}

#[tokio::test]
async fn a_file_that_does_not_come_holds_up_neither_requests_nor_a_stop() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "page")).await;
    for mut host in of_each_build(|| setup(&authority, &[&origin])) {
        let file = host.file("variables");
        std::fs::remove_file(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        host.signal(Signal::HUP);
        tokio::time::sleep(Duration::from_millis(100)).await;
        for _ in 0..4 {
            assert_eq!(client::get(host.address, "/ready").await.text(), "page");
        }
        host.signal(Signal::TERM);
        assert_eq!(host.ended().await.code(), Some(0));
        assert!(!host.stderr().contains("reloaded"), "{}", host.stderr());
    }
}

#[tokio::test]
async fn sighup_with_every_instance_made_costs_no_request_its_answer() {
    const INSTANCES: usize = 24;
    let host = reloadable(Setup::new()).flag("--max-instances", INSTANCES.to_string()).start();
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..2 * INSTANCES)
        .map(|_| {
            let (address, done) = (host.address, Arc::clone(&done));
            tokio::spawn(async move {
                let mut client = client::plain(address).await;
                while !done.load(Ordering::SeqCst) {
                    client.send(client::request_kept_alive("/")).await;
                    assert_eq!(client.answer().await.status, 308);
                }
            })
        })
        .collect();
    for times in 1..=20 {
        reconfigure(&host, times).await;
    }
    done.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    assert!(!host.stderr().contains("the component failed"), "{}", host.stderr());
}
