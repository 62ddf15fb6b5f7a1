//! Each failure of an origin has its own class, and nothing is sent twice behind the policy's back.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client;
use crate::origin::{self, Origin, Stream, keep_answering, ok, read_head, write};
use crate::process::{Host, Setup};
use crate::trust::Authority;

async fn class(host: &Host) -> String {
    let answer = client::get(host.address, "/ready").await;
    assert_eq!(answer.status, 503, "{answer:?}");
    let text = answer.text();
    let class = text.rsplit_once('(').and_then(|(_, class)| class.strip_suffix(')'));
    class.unwrap_or_else(|| panic!("no class in {text:?}")).to_owned()
}

async fn class_of_tcp<F>(play: impl Fn(TcpStream, usize) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::new();
    let origin = Origin::raw("a.example", play).await;
    class(&origin::host(&authority, &[&origin])).await
}

async fn class_of_answer<F>(play: impl Fn(Stream) -> F + Clone + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", move |stream, _| play(stream)).await;
    class(&origin::host(&authority, &[&origin])).await
}

async fn class_of_bytes(answer: impl Into<Vec<u8>>) -> String {
    let answer = Arc::new(answer.into());
    class_of_answer(move |mut stream| {
        let answer = Arc::clone(&answer);
        async move {
            read_head(&mut stream).await;
            write(&mut stream, answer.as_slice()).await;
            // Keeps the connection open until the other side has judged.
            let _ = stream.read(&mut [0; 64]).await;
        }
    })
    .await
}

/// Closes with RST.
fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[tokio::test]
async fn a_closed_port_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let host = Setup::new()
        .flag("--env", r#"BACKEND_ORIGINS_JSON=["https://a.example"]"#)
        .flag("--resolve", format!("a.example:443={address}"))
        .start();
    assert_eq!(class(&host).await, "refused");
}

#[tokio::test]
async fn an_unknown_name_is_dns() {
    let host = Setup::new().flag("--env", r#"BACKEND_ORIGINS_JSON=["https://nowhere.invalid"]"#).start();
    assert_eq!(class(&host).await, "dns");
}

#[tokio::test]
async fn rst_or_an_end_in_the_handshake_is_reset() {
    assert_eq!(class_of_tcp(|stream, _| async { reset(stream) }).await, "reset");
    assert_eq!(class_of_tcp(|stream, _| async { drop(stream) }).await, "reset");
    let end = class_of_tcp(|mut stream, _| async move {
        let _ = stream.read(&mut [0; 4096]).await;
    });
    assert_eq!(end.await, "reset");
}

#[tokio::test]
async fn plain_http_instead_of_a_handshake_is_tls() {
    let plain = class_of_tcp(|mut stream, _| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    assert_eq!(plain.await, "tls");
}

#[tokio::test]
async fn a_certificate_of_another_name_or_authority_is_tls() {
    let (trusted, other) = (Authority::new(), Authority::new());
    let mut wrong_name = Origin::new(&trusted, "b.example", |stream, _| keep_answering(stream, "no")).await;
    wrong_name.name = "a.example";
    assert_eq!(class(&origin::host(&trusted, &[&wrong_name])).await, "tls");
    let stranger = Origin::new(&other, "a.example", |stream, _| keep_answering(stream, "no")).await;
    assert_eq!(class(&origin::host(&trusted, &[&stranger])).await, "tls");
}

#[tokio::test]
async fn an_origin_that_never_speaks_tls_is_timeout() {
    let authority = Authority::new();
    let origin = Origin::raw("a.example", |stream, _| async move {
        let _held = stream;
        tokio::time::sleep(Duration::from_secs(30)).await;
    })
    .await;
    let setup = origin::setup(&authority, &[&origin]);
    let host = setup.flag("--env", "LB_REQUEST_TIMEOUT_MS=200").start();
    assert_eq!(class(&host).await, "timeout");
}

#[tokio::test]
async fn an_end_before_a_whole_head_is_reset() {
    let after_request = class_of_answer(|mut stream| async move {
        read_head(&mut stream).await;
    });
    assert_eq!(after_request.await, "reset");
    let half = class_of_answer(|mut stream| async move {
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 200 OK\r\ncontent-le").await;
    });
    assert_eq!(half.await, "reset");
    let rst = class_of_answer(|mut stream| async move {
        read_head(&mut stream).await;
        reset(stream.into_inner().0);
    });
    assert_eq!(rst.await, "reset");
}

#[tokio::test]
async fn garbage_instead_of_a_head_is_protocol() {
    assert_eq!(class_of_bytes("220 mail.example ESMTP\r\n\r\n").await, "protocol");
    assert_eq!(class_of_bytes("HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n").await, "protocol");
}

#[tokio::test]
async fn a_head_over_the_limits_is_limit() {
    let fields = |count: usize| (0..count).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();
    let head = |fields: String| format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{fields}\r\n");
    assert_eq!(class_of_bytes(head(fields(2000))).await, "limit");
    assert_eq!(class_of_bytes(head(format!("x: {}\r\n", "y".repeat(129 * 1024)))).await, "limit");
}

#[tokio::test]
async fn a_head_at_the_limits_is_passed_on() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        let fields: String = (0..1998).map(|n| format!("x-{n}: 1\r\n")).collect();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{fields}x: {}\r\n\r\nok", "y".repeat(90_000));
        write(&mut stream, head).await;
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    let answer = client::get(host.address, "/ready").await;
    assert_eq!((answer.status, answer.text(), answer.header("x-1997")), (200, "ok", Some("1")));
}

#[tokio::test]
async fn a_pooled_connection_that_died_unused_is_replaced_silently() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, ok("once")).await;
        stream.shutdown().await.unwrap();
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    for _ in 0..5 {
        assert_eq!(client::get(host.address, "/ready").await.text(), "once");
    }
}

#[tokio::test]
async fn a_reused_connection_that_dies_under_a_request_is_a_reset_and_no_resend() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, ok("once")).await;
        read_head(&mut stream).await;
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    assert_eq!(client::get(host.address, "/ready").await.text(), "once");
    assert_eq!(class(&host).await, "reset");
    assert_eq!(origin.connections(), 1, "the request was sent again");
}

#[tokio::test]
async fn connections_to_an_origin_are_reused() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "pong")).await;
    let host = origin::host(&authority, &[&origin]);
    for _ in 0..5 {
        assert_eq!(client::get(host.address, "/ready").await.text(), "pong");
    }
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_was_idle_for_over_four_seconds_is_not_reused() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "pong")).await;
    let host = origin::host(&authority, &[&origin]);
    assert_eq!(client::get(host.address, "/ready").await.text(), "pong");
    tokio::time::sleep(Duration::from_millis(4100)).await;
    assert_eq!(client::get(host.address, "/ready").await.text(), "pong");
    assert_eq!(origin.connections(), 2);
}
