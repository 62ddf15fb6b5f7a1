//! A component that traps or leaves its answer unfinished costs its own request, visibly.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use messageweave_lb_faulty::{proxy, service};

use crate::client;
use crate::process::{Host, Setup};

fn host() -> Host {
    serving(proxy().unwrap())
}

/// A host of a component whose instances are shared.
fn sharing_host() -> Host {
    serving(service().unwrap())
}

fn serving(component: Vec<u8>) -> Host {
    let setup = Setup::new();
    let file: PathBuf = setup.file("faulty.wasm");
    std::fs::write(&file, component).unwrap();
    setup.component(file).start()
}

#[tokio::test]
async fn a_trap_before_the_head_is_a_500_for_that_request_alone() {
    let host = host();
    for _ in 0..3 {
        let answer = client::get(host.address, "/trap").await;
        assert_eq!((answer.status, answer.text()), (500, "internal error"));
        assert_eq!(client::get(host.address, "/ok").await.status, 200);
    }
    host.says("the component failed: wasm trap", 3).await;
}

#[tokio::test]
async fn an_instance_that_returns_without_an_answer_is_a_500() {
    let host = host();
    assert_eq!(client::get(host.address, "/nothing").await.status, 500);
    assert_eq!(client::get(host.address, "/ok").await.status, 200);
}

#[tokio::test]
async fn a_whole_body_ends_whole() {
    let answer = client::get(host().address, "/ok").await;
    assert!(answer.ends_whole(), "{answer:?}");
}

#[tokio::test]
async fn a_body_that_is_cut_left_or_dropped_breaks_off_on_http1() {
    let host = host();
    for target in ["/cut", "/unfinished", "/dropped"] {
        let answer = client::get(host.address, target).await;
        assert_eq!(answer.status, 200, "{target}");
        assert!(!answer.ends_whole(), "{target}: {answer:?}");
        assert_eq!(client::get(host.address, "/ok").await.status, 200, "after {target}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_left_or_dropped_breaks_off_on_h2() {
    let host = host();
    let io = TokioIo::new(client::handshake(host.address, &["h2"]).await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    // All on one connection: only the stream breaks.
    for (target, whole) in [("/cut", false), ("/unfinished", false), ("/dropped", false), ("/ok", true)] {
        let uri = format!("https://a.example{target}");
        let request = Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.is_ok(), whole, "{target}");
    }
}

#[tokio::test]
async fn a_trap_ends_every_request_of_a_shared_instance_and_the_next_instance_serves() {
    let host = sharing_host();
    for round in 1..=3 {
        let address = host.address;
        let mut hanging = Vec::new();
        for _ in 0..3 {
            let mut client = client::tls(address).await;
            client.send(client::request("GET", "/hang")).await;
            client.hears_nothing_for(Duration::from_millis(50)).await;
            hanging.push(client);
        }
        let answer = client::get(address, "/trap").await;
        assert_eq!((answer.status, answer.text()), (500, "internal error"));
        for mut client in hanging {
            client.until("500 Internal Server Error").await;
        }
        host.says("the component failed: wasm trap", round).await;
        // No answer of the component's, but no trap either: the next instance is there.
        assert_eq!(client::get(address, "/none").await.status, 500);
        assert_eq!(host.stderr().matches("the component failed").count(), round);
    }
}
