//! The instance that all requests share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use h2::client::ResponseFuture;
use http::{Request, Response};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::client;
use crate::origin::{self, Origin};
use crate::process::Host;
use crate::trust::Authority;

/// Together more than wasmtime gives a store handles for by default.
const CONNECTIONS: usize = 150;
const STREAMS: usize = 120;
/// For so many on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// An origin of h2 that takes each upload to its end and answers when it is told to.
async fn patient(authority: &Authority, arrived: Arc<Semaphore>, go: watch::Receiver<bool>) -> Origin {
    let acceptor = TlsAcceptor::from(authority.server("a.example", &["h2"]));
    Origin::raw("a.example", move |stream, _| {
        let (acceptor, arrived, go) = (acceptor.clone(), Arc::clone(&arrived), go.clone());
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let mut builder = h2::server::Builder::new();
            builder.max_concurrent_streams(u32::MAX).initial_connection_window_size(1 << 30);
            let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
            while let Some(Ok((_, mut answer))) = connection.accept().await {
                arrived.add_permits(1);
                let mut go = go.clone();
                tokio::spawn(async move {
                    go.wait_for(|go| *go).await.unwrap();
                    answer.send_response(Response::new(()), true).unwrap();
                });
            }
        }
    })
    .await
}

/// As many uploads on one connection as the host allows, begun and not ended.
async fn uploads(host: &Host) -> Vec<(ResponseFuture, SendStream<Bytes>)> {
    let stream = client::handshake(host.address, &["h2"]).await;
    let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut uploads = Vec::new();
    for _ in 0..STREAMS {
        sender = sender.ready().await.unwrap();
        let request = Request::post("https://lb.example/webhook/tg").body(()).unwrap();
        let (answer, mut upload) = sender.send_request(request, false).unwrap();
        upload.send_data("begun".into(), false).unwrap();
        uploads.push((answer, upload));
    }
    uploads
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_uploads_share_an_instance_without_a_cap() {
    let authority = Authority::new();
    let arrived = Arc::new(Semaphore::new(0));
    let (go, told) = watch::channel(false);
    let origin = patient(&authority, Arc::clone(&arrived), told).await;
    let host = origin::setup(&authority, &[&origin])
        .component(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/messageweave-lb-p3.wasm"))
        .flag("--env", "LB_REQUEST_TIMEOUT_MS=200000")
        .start();
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        all.extend(uploads(&host).await);
    }
    let sent = u32::try_from(all.len()).unwrap();
    timeout(LONG, arrived.acquire_many(sent)).await.expect("every request at the origin").unwrap().forget();
    go.send(true).unwrap();
    for (answer, _upload) in all {
        assert_eq!(answer.await.unwrap().status().as_u16(), 200);
    }
    assert!(!host.stderr().contains("failed"), "{}", host.stderr());
}
