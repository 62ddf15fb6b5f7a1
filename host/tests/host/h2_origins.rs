//! Origins that speak h2 by ALPN.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::{Connection, SendResponse};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::client;
use crate::origin::{self, Origin};
use crate::trust::Authority;

type Server = Connection<TlsStream<TcpStream>, Bytes>;
type Exchange = (Request<h2::RecvStream>, SendResponse<Bytes>);

/// An h2 origin whose connections are played by a function.
async fn h2<F>(authority: &Authority, play: impl Fn(Server) -> F + Send + Sync + 'static) -> Origin
where
    F: Future<Output = ()> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(authority.server("a.example", &["h2"]));
    let play = Arc::new(play);
    Origin::raw("a.example", move |stream, _| {
        let (acceptor, play) = (acceptor.clone(), Arc::clone(&play));
        async move {
            let stream = acceptor.accept(stream).await.unwrap();
            play(h2::server::handshake(stream).await.unwrap()).await;
        }
    })
    .await
}

async fn next(server: &mut Server) -> Exchange {
    server.accept().await.unwrap().unwrap()
}

/// Drives what is queued, until the other side has ended the connection.
async fn finish(mut server: Server) {
    while let Some(Ok(_)) = server.accept().await {}
}

fn answer(reply: &mut SendResponse<Bytes>, headers: HeaderMap, body: &str) {
    let mut response = Response::new(());
    *response.headers_mut() = headers;
    let mut stream = reply.send_response(response, false).unwrap();
    stream.send_data(body.to_owned().into(), true).unwrap();
}

#[tokio::test]
async fn requests_share_one_connection_and_name_the_origin_once() {
    let authority = Authority::new();
    let origin = h2(&authority, |mut server| async move {
        while let Some(Ok((request, mut reply))) = server.accept().await {
            let host = request.headers().contains_key("host");
            answer(&mut reply, HeaderMap::new(), &format!("{} host: {host}", request.uri()));
        }
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    for _ in 0..3 {
        let got = client::get(host.address, "/ready?a=%20").await;
        assert!(got.text().contains("https://a.example/ready?a=%20 host: false"), "{got:?}");
    }
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn refusals_of_h2_are_a_reset() {
    for reason in [Reason::REFUSED_STREAM, Reason::INTERNAL_ERROR] {
        let authority = Authority::new();
        let origin = h2(&authority, move |mut server| async move {
            let (_, mut reply) = next(&mut server).await;
            reply.send_reset(reason);
            finish(server).await;
        })
        .await;
        let got = client::get(origin::host(&authority, &[&origin]).address, "/ready").await;
        assert!(got.text().ends_with("(reset)"), "{reason:?}: {got:?}");
    }
}

#[tokio::test]
async fn goaway_under_a_request_is_a_reset() {
    let authority = Authority::new();
    let origin = h2(&authority, |mut server| async move {
        let _unanswered = next(&mut server).await;
        server.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        finish(server).await;
    })
    .await;
    let got = client::get(origin::host(&authority, &[&origin]).address, "/ready").await;
    assert!(got.text().ends_with("(reset)"), "{got:?}");
}

#[tokio::test]
async fn a_body_reset_breaks_off_for_the_client() {
    for reason in [Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::NO_ERROR] {
        let authority = Authority::new();
        let origin = h2(&authority, move |mut server| async move {
            let (_, mut reply) = next(&mut server).await;
            let mut stream = reply.send_response(Response::new(()), false).unwrap();
            stream.send_data("part".into(), false).unwrap();
            // Data goes out before the reset that follows it.
            tokio::select! {
                _ = server.accept() => {}
                () = tokio::time::sleep(Duration::from_millis(300)) => {}
            }
            stream.send_reset(reason);
            finish(server).await;
        })
        .await;
        let host = origin::host(&authority, &[&origin]);
        let got = client::get(host.address, "/ready").await;
        assert!(got.text().contains("part") && !got.ends_whole(), "{reason:?}: {got:?}");
    }
}

#[tokio::test]
async fn an_early_answer_that_asks_for_no_more_of_the_upload_is_whole() {
    let authority = Authority::new();
    let origin = h2(&authority, |mut server| async move {
        while let Some(Ok((request, mut reply))) = server.accept().await {
            answer(&mut reply, HeaderMap::new(), "enough");
            // The library resets with NO_ERROR once the upload is given up and the answer is out.
            drop(request);
        }
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    let head = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n";
    for _ in 0..10 {
        let mut client = client::tls(host.address).await;
        client.send(head).await;
        // The host may answer before it has the whole.
        let _ = client.0.write_all(&vec![b'x'; 1_000_000]).await;
        let got = client.last_answer().await;
        assert!(got.text().contains("enough") && got.ends_whole(), "{got:?}");
    }
}

#[tokio::test]
async fn readers_that_do_not_read_hold_up_no_other_answer() {
    let authority = Authority::new();
    let big = Bytes::from(vec![b'z'; 32 * 1024 * 1024]);
    let origin = h2(&authority, move |mut server| {
        let big = big.clone();
        async move {
            while let Some(Ok((request, mut reply))) = server.accept().await {
                let body = if request.uri().query() == Some("big") { big.clone() } else { "small".into() };
                let mut stream = reply.send_response(Response::new(()), false).unwrap();
                stream.send_data(body, true).unwrap();
            }
        }
    })
    .await;
    let host = origin::setup(&authority, &[&origin]).flag("--env", "LB_REQUEST_TIMEOUT_MS=1000").start();
    let mut readers = Vec::new();
    for _ in 0..6 {
        let mut reader = client::tls(host.address).await;
        reader.send(client::request_kept_alive("/ready?big")).await;
        reader.until("200 OK").await;
        readers.push(reader);
    }
    // Their windows fill up meanwhile.
    for _ in 0..20 {
        let got = client::get(host.address, "/ready?small").await;
        assert!(got.text().contains("small") && got.ends_whole(), "{got:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // One for each thread that has a reader.
    assert!(origin.connections() <= std::thread::available_parallelism().unwrap().get().min(6));
}

#[tokio::test]
async fn the_limits_of_a_head_are_those_of_http1() {
    for (count, long, status) in [(2000, 1, 200), (2001, 1, 503), (10, 12_000, 200), (10, 14_000, 503)] {
        let authority = Authority::new();
        let origin = h2(&authority, move |mut server| async move {
            let (_, mut reply) = next(&mut server).await;
            let value = HeaderValue::try_from("y".repeat(long)).unwrap();
            let field = |n| (HeaderName::try_from(format!("x-{n}")).unwrap(), value.clone());
            answer(&mut reply, (0..count).map(field).collect(), "");
            finish(server).await;
        })
        .await;
        let got = client::get(origin::host(&authority, &[&origin]).address, "/ready").await;
        assert_eq!(got.status, status, "{count} fields of {long}: {:?}", got.head.len());
        assert!(status == 200 || got.text().ends_with("(limit)"), "{got:?}");
    }
}
