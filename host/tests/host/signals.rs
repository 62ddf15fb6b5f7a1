//! Ending, reloading, and the cache of compiled code.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::client;
use crate::frames::{END_HEADERS, END_STREAM, HEADERS, SETTINGS, frame, head, preface};
use crate::origin::{self, Origin, ok, read_head, write};
use crate::process::{PATIENCE, Setup, until};
use crate::trust::Authority;

/// An origin that holds its answer back until it is told.
async fn held(authority: &Authority, go: Arc<Notify>) -> Origin {
    Origin::new(authority, "a.example", move |mut stream, _| {
        let go = Arc::clone(&go);
        async move {
            read_head(&mut stream).await;
            go.notified().await;
            write(&mut stream, ok("finished")).await;
        }
    })
    .await
}

#[tokio::test]
async fn the_first_signal_lets_requests_finish_and_takes_no_new_ones() {
    for signal in [Signal::TERM, Signal::INT] {
        let (authority, go) = (Authority::new(), Arc::new(Notify::new()));
        let origin = held(&authority, Arc::clone(&go)).await;
        let mut host = origin::host(&authority, &[&origin]);
        let mut idle = client::plain(host.address).await;
        idle.send(client::request_kept_alive("/")).await;
        assert_eq!(idle.answer().await.status, 308);
        let mut client = client::tls(host.address).await;
        client.send(client::request_kept_alive("/ready")).await;
        until("the request upstream", || origin.connections() == 1).await;
        host.signal(signal);
        host.says("stopping", 1).await;
        assert_eq!(idle.rest().await, b"", "an idle connection is closed");
        while TcpStream::connect(host.address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(host.is_running());
        go.notify_one();
        assert_eq!(client.last_answer().await.text(), "finished");
        assert_eq!(host.ended().await.code(), Some(0));
    }
}

#[tokio::test]
async fn the_second_signal_ends_at_once() {
    let (authority, go) = (Authority::new(), Arc::new(Notify::new()));
    let origin = held(&authority, go).await;
    let mut host = origin::host(&authority, &[&origin]);
    let mut client = client::tls(host.address).await;
    client.send(client::request("GET", "/ready")).await;
    until("the request upstream", || origin.connections() == 1).await;
    host.signal(Signal::TERM);
    host.says("stopping", 1).await;
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(128 + 15));
}

#[tokio::test]
async fn clients_that_take_for_ever_do_not_hold_up_the_end() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        if read_head(&mut stream).await.starts_with("GET") {
            write(&mut stream, ok(&"x".repeat(300_000))).await;
        }
        std::future::pending::<()>().await;
    })
    .await;
    let mut host = origin::setup(&authority, &[&origin])
        .flag("--env", "LB_REQUEST_TIMEOUT_MS=1000")
        .flag("--env", "LB_RECONCILE_TIMEOUT_MS=1000")
        .flag("--env", "LB_WORKER_TIMEOUT_MS=1000")
        .start();
    let mut sender = client::tls(host.address).await;
    sender.send("POST /webhook/tg HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await;
    let sending = tokio::spawn(async move {
        while sender.0.write_all(b"x").await.is_ok() && sender.0.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let mut reader = client::Client(client::handshake(host.address, &["h2"]).await);
    let no_window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let get = frame(HEADERS, END_STREAM | END_HEADERS, 1, &head("GET", "/ready", &[]));
    reader.send([preface(), no_window, get].concat()).await;
    until("both requests upstream", || origin.connections() == 2).await;
    host.signal(Signal::TERM);
    host.says("stopping", 1).await;
    let stopped = Instant::now();
    assert_eq!(host.ended().await.code(), Some(0));
    assert!(stopped.elapsed() > Duration::from_secs(5), "{:?}", stopped.elapsed());
    host.says("cut: 2 connections", 1).await;
    sending.abort();
}

#[tokio::test]
async fn sighup_reloads_the_configuration_under_requests_in_flight() {
    let (authority, go) = (Authority::new(), Arc::new(Notify::new()));
    let origin = held(&authority, Arc::clone(&go)).await;
    let setup = origin::setup(&authority, &[&origin]);
    let file = setup.file("lb.env");
    fs::write(&file, "LB_VERSION=one\n").unwrap();
    let host = setup.flag("--env-file", &file).start();
    assert!(client::get(host.address, "/healthz-worker-").await.status == 404);
    let mut in_flight = client::tls(host.address).await;
    in_flight.send(client::request("GET", "/ready")).await;
    until("the request upstream", || origin.connections() == 1).await;
    fs::write(&file, "LB_VERSION=two\nLB_REQUEST_TIMEOUT_MS=100\n").unwrap();
    host.signal(Signal::HUP);
    host.says("reloaded", 1).await;
    let view = client::get(host.address, "/healthz-worker").await;
    assert!(view.text().contains(r#""version":"two""#), "{}", view.text());
    go.notify_waiters();
    go.notify_one();
    assert_eq!(in_flight.last_answer().await.text(), "finished");
}

#[tokio::test]
async fn a_reload_that_fails_keeps_what_was() {
    let setup = Setup::new();
    let file = setup.file("lb.env");
    fs::write(&file, "LB_VERSION=one\n").unwrap();
    let host = setup.flag("--env-file", &file).start();
    fs::write(&file, "PASSWORD=s3cret\n").unwrap();
    host.signal(Signal::HUP);
    host.says("not reloaded: ", 1).await;
    assert!(!host.stderr().contains("s3cret"));
    let view = client::get(host.address, "/healthz-worker").await;
    assert!(view.text().contains(r#""version":"one""#), "{}", view.text());
}

#[tokio::test]
async fn sighup_reloads_the_certificate() {
    let authority = Authority::new();
    let setup = Setup::new();
    let (cert, key) = (setup.file("cert.pem"), setup.file("key.pem"));
    authority.write_identity("one.example", &cert, &key);
    let host = setup.flag("--cert", &cert).flag("--key", &key).start();
    let shown = async || {
        let stream = client::handshake(host.address, &["http/1.1"]).await;
        stream.get_ref().1.peer_certificates().unwrap()[0].as_ref().to_vec()
    };
    let names =
        |certificate: &[u8], name: &str| certificate.windows(name.len()).any(|w| w == name.as_bytes());
    assert!(names(&shown().await, "one.example"));
    authority.write_identity("two.example", &cert, &key);
    host.signal(Signal::HUP);
    host.says("reloaded", 1).await;
    assert!(names(&shown().await, "two.example"));
}

#[tokio::test]
async fn compiled_code_is_kept_in_the_users_cache() {
    let setup = Setup::new();
    let cache = setup.file("cache");
    let host = setup.process_env("XDG_CACHE_HOME", &cache).start();
    until("compiled code in the cache", || {
        fs::read_dir(cache.join("messageweave-lb")).is_ok_and(|mut entries| entries.next().is_some())
    })
    .await;
    assert_eq!(client::get(host.address, "/nope").await.status, 404);
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_stops_nothing() {
    let setup = Setup::new();
    let cache = setup.file("cache");
    fs::write(&cache, "no folder").unwrap();
    let host = setup.process_env("XDG_CACHE_HOME", &cache).start();
    assert_eq!(client::get(host.address, "/nope").await.status, 404);
    let setup = Setup::new();
    let cache = setup.file("cache");
    fs::create_dir_all(cache.join("messageweave-lb")).unwrap();
    fs::set_permissions(cache.join("messageweave-lb"), Permissions::from_mode(0o500)).unwrap();
    let host = setup.process_env("XDG_CACHE_HOME", &cache).start();
    assert_eq!(client::get(host.address, "/nope").await.status, 404);
}

#[tokio::test]
async fn answers_that_wait_for_their_readers_arrive_whole_after_the_first_signal() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        loop {
            let head = read_head(&mut stream).await;
            let Some(length) = head.split(['?', ' ']).nth(2) else { return };
            write(&mut stream, ok(&"z".repeat(length.parse().unwrap()))).await;
        }
    })
    .await;
    let mut host = origin::setup(&authority, &[&origin]).flag("--env", "LB_TRUST_FORWARDED_PROTO=1").start();
    // All sizes about what the system's buffers hold: for some of them hyper has taken the last byte
    // of an answer that the socket has not.
    let mut clients = Vec::new();
    for length in (1..=30).map(|number| number * 200_000) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(65_536).unwrap();
        let mut client = client::Client(socket.connect(host.address).await.unwrap());
        let fields = "host: a\r\nx-forwarded-proto: https\r\nconnection: close\r\n";
        client.send(format!("GET /ready?{length} HTTP/1.1\r\n{fields}\r\n")).await;
        clients.push((length, client));
    }
    for (_, client) in &clients {
        let mut first = [0];
        timeout(PATIENCE, client.0.peek(&mut first)).await.expect("no answer").unwrap();
    }
    host.signal(Signal::TERM);
    host.says("stopping", 1).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (length, mut client) in clients {
        assert_eq!(client.last_answer().await.body.len(), length);
    }
    assert_eq!(host.ended().await.code(), Some(0));
}
