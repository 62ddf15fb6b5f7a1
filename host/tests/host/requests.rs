//! One port for http and TLS, and the judgement of Host in front of the component.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::client::{self, Answer, Client};
use crate::origin::{self, Origin, keep_answering};
use crate::process::{Host, Setup};
use crate::trust::Authority;

#[tokio::test]
async fn one_port_speaks_http_and_tls_with_the_true_scheme() {
    let host = Setup::new().start();
    let mut plain = client::plain(host.address).await;
    plain.send(client::request("GET", "/ready?a=1&b=%20")).await;
    let answer = plain.last_answer().await;
    assert_eq!((answer.status, answer.header("location")), (308, Some("https://lb.example/ready?a=1&b=%20")));
    // Over TLS the request gets as far as the configuration.
    assert_eq!(client::get(host.address, "/ready").await.status, 503);
}

#[tokio::test]
async fn every_address_is_announced_and_served() {
    let host = Setup::new().flag("--listen", "127.0.0.2:0").start();
    crate::process::until("the second address", || host.announced().contains("http://127.0.0.1:")).await;
    let second = host.announced().trim_start_matches("listening on http://").parse().unwrap();
    for address in [host.address, second] {
        assert_eq!(client::get(address, "/nope").await.status, 404);
    }
}

#[tokio::test]
async fn h2_is_offered_by_alpn() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "pong")).await;
    let host = origin::host(&authority, &[&origin]);
    let (status, body) = h2_get(&host, "https://lb.example/ready").await;
    assert_eq!((status, body.as_slice()), (200, b"pong".as_slice()));
}

#[tokio::test]
async fn a_missing_repeated_or_malformed_host_is_400() {
    let host = Setup::new().start();
    for head in [
        "GET /ready HTTP/1.1\r\n",
        "GET http://a.example/ready HTTP/1.1\r\n",
        "GET /ready HTTP/1.1\r\nhost: a.example\r\nhost: a.example\r\n",
        "GET /ready HTTP/1.1\r\nhost: a.example@b.example\r\n",
        "GET /ready HTTP/1.1\r\nhost:\r\n",
        "POST /worker HTTP/1.1\r\nhost: a b\r\ncontent-length: 0\r\n",
    ] {
        let answer = say(&host, format!("{head}connection: close\r\n\r\n").as_bytes()).await;
        assert_eq!((answer.status, answer.text()), (400, "malformed host"), "{head:?}");
    }
    let answer = say(&host, b"GET / HTTP/1.1\r\nhost: \xff\xfe\r\nconnection: close\r\n\r\n").await;
    assert_eq!((answer.status, answer.text()), (400, "malformed host"));
}

#[tokio::test]
async fn the_authority_of_an_absolute_target_wins() {
    let host = Setup::new().start();
    let head = "GET http://a.example:8080/x HTTP/1.1\r\nhost: b.example\r\nconnection: close\r\n\r\n";
    let answer = say(&host, head.as_bytes()).await;
    assert_eq!(answer.header("location"), Some("https://a.example:8080/x"));
}

#[tokio::test]
async fn the_policy_sees_what_connection_nominates() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        let head = origin::read_head(&mut stream).await;
        origin::write(&mut stream, origin::ok(&head)).await;
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    let mut client = client::tls(host.address).await;
    client
        .send("GET /ready HTTP/1.1\r\nhost: lb.example\r\nconnection: close, x-secret\r\nx-secret: 1\r\nx-kept: 2\r\n\r\n")
        .await;
    let answer = client.last_answer().await;
    assert_eq!(answer.text(), "GET /ready HTTP/1.1\r\nx-kept: 2\r\nhost: a.example\r\n\r\n");
}

#[tokio::test]
async fn a_host_with_a_port_of_its_own_reaches_the_origin_in_full() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        let head = origin::read_head(&mut stream).await;
        origin::write(&mut stream, origin::ok(&head)).await;
    })
    .await;
    let setup = Setup::new();
    authority.write(&setup.file("ca.pem"));
    let ca = setup.file("ca.pem");
    let host = setup
        .flag("--ca", ca)
        .flag("--env", r#"BACKEND_ORIGINS_JSON=["https://a.example:8443"]"#)
        .flag("--resolve", format!("a.example:8443={}", origin.address))
        .start();
    let answer = client::get(host.address, "/ready").await;
    assert!(answer.text().contains("\r\nhost: a.example:8443\r\n"), "{}", answer.text());
}

async fn say(host: &Host, bytes: &[u8]) -> Answer {
    let mut client = client::plain(host.address).await;
    client.send(bytes).await;
    client.last_answer().await
}

pub(crate) async fn h2_get(host: &Host, uri: &str) -> (u16, Vec<u8>) {
    let Client(stream) = Client(client::handshake(host.address, &["h2"]).await);
    let io = TokioIo::new(stream);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

#[tokio::test]
async fn a_target_without_a_leading_slash_is_400_and_goes_nowhere() {
    let host = Setup::new().start();
    for target in ["api", "healthz-worker", "evil.example", "evil.example:443", "ftp://lb.example/ready"] {
        let request = client::request("GET", target);
        let answer = say(&host, request.as_bytes()).await;
        assert_eq!((answer.status, answer.text()), (400, "malformed target"), "{target}");
        assert_eq!(client::get(host.address, target).await.status, 400, "{target} over TLS");
    }
}

#[tokio::test]
async fn a_transfer_coding_other_than_chunked_is_501_and_reaches_no_origin() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "taken")).await;
    let host = origin::host(&authority, &[&origin]);
    for (coding, status) in [
        ("transfer-encoding: chunked", 200),
        ("transfer-encoding: Chunked", 200),
        ("transfer-encoding: gzip, chunked", 501),
        ("transfer-encoding: chunked, chunked", 501),
        ("transfer-encoding: identity\r\ntransfer-encoding: chunked", 501),
    ] {
        let mut client = client::tls(host.address).await;
        // What is refused ends the connection by itself.
        let end = if status == 200 { "connection: close\r\n" } else { "" };
        let head = format!("POST /webhook/tg HTTP/1.1\r\nhost: a\r\n{end}");
        client.send(format!("{head}{coding}\r\n\r\n2\r\nhi\r\n0\r\n\r\n")).await;
        assert_eq!(client.last_answer().await.status, status, "{coding}");
    }
    assert!(origin.connections() <= 2, "{}", origin.connections());
}

#[tokio::test]
async fn a_tls_client_that_offers_http_1_0_alone_is_served() {
    let host = Setup::new().start();
    let mut client = Client(client::handshake(host.address, &["http/1.0"]).await);
    client.send("GET /nope HTTP/1.0\r\nhost: a\r\n\r\n").await;
    assert_eq!(client.last_answer().await.status, 404);
}

/// As a browser sends them, and as HTTP/1.1 would.
#[tokio::test]
async fn cookies_in_crumbs_are_one_field() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "sweet")).await;
    let host = origin::host(&authority, &[&origin]);
    let io = client::handshake(host.address, &["h2"]).await;
    let (mut client, connection) = h2::client::handshake(io).await.unwrap();
    tokio::spawn(connection);
    for (count, size, status) in [(120, 4, 200), (120, 1000, 431)] {
        let mut request = Request::get("https://lb.example/ready");
        for number in 0..count {
            request = request.header("cookie", format!("a{number}={}", "b".repeat(size)));
        }
        let (answer, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
        assert_eq!(answer.await.unwrap().status().as_u16(), status);
    }
}
