//! An answer that is given before the upload was read reaches a client of h2 that still sends: the stream is
//! not reset under it (RFC 9113 section 8.1), but for a bounded while its body is read on.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, SendStream};
use http::Request;
use tokio::time::timeout;

use crate::client;
use crate::origin::{self, Origin, read_head, write};
use crate::process::{Host, PATIENCE, Setup, of_each_build};
use crate::trust::Authority;

/// More than the windows that the host opens at once.
const CHUNK: usize = 16 * 1024;
const CHUNKS: usize = 200;

type Upload = (ResponseFuture, SendStream<Bytes>);

async fn begin(address: SocketAddr, request: Request<()>) -> Upload {
    let io = client::handshake(address, &["h2"]).await;
    let (mut client, connection) = h2::client::handshake(io).await.unwrap();
    tokio::spawn(async move {
        // Ends with the host's process.
        let _ = connection.await;
    });
    client.send_request(request, false).unwrap()
}

/// Sends as the windows open; false when the stream ends under it.
async fn send(upload: &mut SendStream<Bytes>, chunks: usize) -> bool {
    for _ in 0..chunks {
        upload.reserve_capacity(CHUNK);
        while upload.capacity() < CHUNK {
            match timeout(PATIENCE, poll_fn(|cx| upload.poll_capacity(cx))).await.expect("no window") {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return false,
            }
        }
        if upload.send_data(vec![b'x'; CHUNK].into(), false).is_err() {
            return false;
        }
    }
    true
}

async fn answer(response: ResponseFuture) -> (u16, String) {
    let response = timeout(PATIENCE, response).await.expect("no answer").expect("a reset in its place");
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(data) = timeout(PATIENCE, body.data()).await.expect("no end") {
        text.extend_from_slice(&data.unwrap());
    }
    (status, String::from_utf8(text).unwrap())
}

/// The answer to a client that reads it when it has sent everything.
async fn refused(host: &Host, request: Request<()>) -> (u16, String) {
    let (response, mut upload) = begin(host.address, request).await;
    assert!(send(&mut upload, CHUNKS).await, "the stream was reset under the upload");
    upload.send_data(Bytes::new(), true).expect("the stream was reset under the upload");
    answer(response).await
}

fn post(path: &str) -> Request<()> {
    Request::post(format!("https://lb.example{path}")).body(()).unwrap()
}

#[tokio::test]
async fn a_refusal_of_the_balancer_reaches_an_h2_client_that_uploads_first_and_reads_later() {
    for host in of_each_build(Setup::new) {
        for (path, expected) in [
            ("/nope", (404, "route not forwarded: /nope")),
            ("/ready", (405, "method not allowed for /ready")),
            ("/healthz-worker", (405, "method not allowed for /healthz-worker")),
            ("/webhook/tg", (503, "misconfigured backends")),
        ] {
            let (status, text) = refused(&host, post(path)).await;
            assert_eq!((status, text.as_str()), expected);
        }
        let mut expecting = post("/nope");
        expecting.headers_mut().insert("expect", "100-continue".parse().unwrap());
        assert_eq!(refused(&host, expecting).await.0, 404);
    }
}

#[tokio::test]
async fn a_refusal_by_a_limit_reaches_an_h2_client_that_still_uploads() {
    let document = r#"{"version":1,"routes":[{"path":"/webhook/tg","methods":["POST"],
        "limit":"one"}],"limits":{"one":{"key":"ip","limit":1,"window_s":3600}}}"#;
    for host in of_each_build(|| {
        // One instance, which counts for all.
        let setup = Setup::new().flag("--instances", "1").flag("--max-instances", "1");
        let setup = setup.flag("--env", format!("LB_POLICY_JSON={}", document.replace('\n', "")));
        setup.flag("--env", r#"BACKEND_ORIGINS_JSON=["https://a.invalid"]"#)
    }) {
        assert_eq!(refused(&host, post("/webhook/tg")).await.0, 503, "{}", host.stderr());
        assert_eq!(refused(&host, post("/webhook/tg")).await.0, 429, "{}", host.stderr());
    }
}

#[tokio::test]
async fn a_refusal_of_the_host_itself_reaches_an_h2_client_that_still_uploads() {
    let host = Setup::new().start();
    let mut request = post("/webhook/tg");
    request.headers_mut().insert("host", "no host".parse().unwrap());
    assert_eq!(refused(&host, request).await, (400, "malformed host".to_owned()));
    let mut request = post("/webhook/tg");
    for number in 0..150 {
        request.headers_mut().append("x-many", number.into());
    }
    assert_eq!(refused(&host, request).await.0, 431);
}

#[tokio::test]
async fn an_origins_early_answer_reaches_an_h2_client_that_still_uploads() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig").await;
        tokio::time::sleep(PATIENCE).await;
    })
    .await;
    for host in of_each_build(|| origin::setup(&authority, &[&origin])) {
        assert_eq!(refused(&host, post("/webhook/tg")).await, (413, "big".to_owned()));
    }
}

#[tokio::test]
async fn draining_an_h2_stream_is_bounded_in_time() {
    let host = Setup::new().start();
    let start = Instant::now();
    let (response, mut upload) = begin(host.address, post("/nope")).await;
    assert!(send(&mut upload, 1).await);
    assert_eq!(answer(response).await.0, 404);
    assert!(start.elapsed() < Duration::from_secs(4), "the answer does not wait for the upload");
    let reset = timeout(PATIENCE, poll_fn(|cx| upload.poll_reset(cx))).await.expect("no reset");
    assert_eq!(reset.unwrap(), Reason::NO_ERROR);
    assert!(start.elapsed() >= Duration::from_secs(4) && start.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn draining_an_h2_stream_is_bounded_in_bytes() {
    let host = Setup::new().start();
    let (response, mut upload) = begin(host.address, post("/nope")).await;
    assert_eq!(answer(response).await.0, 404);
    let mut taken = 0;
    while taken < 200 * 64 && send(&mut upload, 1).await {
        taken += 1;
    }
    let taken = taken / 64;
    assert!((10..200).contains(&taken), "{taken} MiB were taken");
}
