//! The address of `--metrics`: `GET /metrics` and nothing else, on short-lived connections, few at once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Metrics;

const PATH: &str = "/metrics";
/// The format that the library writes, which Prometheus asks for first.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 16;
/// A connection that takes longer is dropped, whatever it waits for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a failed accept.
const BREATHER: Duration = Duration::from_millis(50);

/// Answers until the process ends, also while requests in flight finish.
pub(crate) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BREATHER).await;
            continue;
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            // However it ends, the next scrape comes on a connection of its own.
            let _ = timeout(PATIENCE, converse(stream, &metrics)).await;
            drop(place);
        });
    }
}

async fn converse(stream: TcpStream, metrics: &Metrics) -> hyper::Result<()> {
    let service = service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(metrics, &request))));
    http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await
}

fn answer(metrics: &Metrics, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    match (request.uri().path(), request.method()) {
        (PATH, &Method::GET | &Method::HEAD) => {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS));
            *response.body_mut() = metrics.text().into();
        }
        (PATH, _) => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        }
        _ => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    response
}
