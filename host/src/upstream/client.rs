//! Requests to origins over a pool of connections.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::HOST;
use http::uri::Scheme;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::time::timeout;
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody};

use super::body::AnswerBody;
use super::connector::Connector;
use super::failure::classify;
use super::resolve::{Route, Routes};

/// Idle connections are dropped before origins usually do (contract 2.6).
const IDLE: Duration = Duration::from_secs(4);
/// Idle connections kept for one origin.
const IDLE_PER_ORIGIN: usize = 256;
/// A response head may hold this many fields (contract 2.6, class `limit`).
const MAX_FIELDS: usize = 2000;
/// A response head may be this long (contract 2.6, class `limit`).
const MAX_HEAD: usize = 128 * 1024;
/// h2 counts 32 bytes more for every field (RFC 9113 section 6.5.2), and tells a head over its
/// own limit from a malformed one no more: so its limit lies well above, and the exact one is
/// checked on what came in.
const MAX_H2_HEAD: u32 = 1024 * 1024;
/// An h2 connection with requests on it that answers no ping for this long is given up.
const H2_PING: Duration = Duration::from_secs(5);
/// Without an option of the request, as long as `wasi:http` hosts wait by default.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The pooled https client that all instances of one configuration share.
#[derive(Clone)]
pub(crate) struct Upstream {
    client: Client<Connector, WasiBody>,
}

impl Upstream {
    pub(crate) fn new(config: Arc<ClientConfig>, routes: &[Route]) -> Self {
        let connector = Connector::new(config, Routes::new(routes));
        // Retrying is left on: it replaces a pooled connection that died before any byte of the
        // request was written, and nothing else.
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_ORIGIN)
            .http1_max_headers(MAX_FIELDS)
            .http1_max_buf_size(MAX_HEAD)
            .http2_max_header_list_size(MAX_H2_HEAD)
            .http2_keep_alive_interval(H2_PING)
            .http2_keep_alive_timeout(H2_PING)
            .build(connector);
        Self { client }
    }

    /// Sends one request; dropping the future, or later the body, ends the exchange.
    pub(crate) async fn send(
        self,
        mut request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Response<WasiBody>, WasiError> {
        if request.uri().scheme() != Some(&Scheme::HTTPS) {
            return Err(WasiError::HttpRequestDenied);
        }
        // Host is the origin's authority alone: the client writes it for HTTP/1.1, and h2 has
        // its pseudo-header.
        request.headers_mut().remove(HOST);
        let response = self.exchange(request, &options).await?;
        if is_over_limits(response.headers()) {
            return Err(WasiError::HttpResponseHeaderSectionSize(None));
        }
        let silence = options.between_bytes_timeout;
        Ok(response.map(|body| AnswerBody::new(body, silence).boxed_unsync()))
    }

    async fn exchange(
        &self,
        mut request: Request<WasiBody>,
        options: &RequestOptions,
    ) -> Result<Response<Incoming>, WasiError> {
        let connected = options.connect_timeout.map(|limit| {
            let mut captured = capture_connection(&mut request);
            async move {
                let metadata = captured.wait_for_connection_metadata();
                timeout(limit, metadata).await.map(drop)
            }
        });
        let answer = self.client.request(request);
        let bounded = timeout(options.first_byte_timeout.unwrap_or(LONGEST_WAIT), answer);
        let answer = match connected {
            None => bounded.await,
            Some(connected) => until(connected, bounded).await?,
        };
        let answer = answer.map_err(|_| WasiError::ConnectionReadTimeout)?;
        answer.map_err(|error| classify(&error))
    }
}

/// The answer, unless the connection is not there in time.
async fn until<T, E>(
    connected: impl Future<Output = Result<(), E>>,
    answer: impl Future<Output = T>,
) -> Result<T, WasiError> {
    tokio::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => Ok(answer),
        connected = connected => match connected {
            Ok(()) => Ok(answer.await),
            Err(_) => Err(WasiError::ConnectionTimeout),
        },
    }
}

/// Counts as the wire does: name, colon, space, value, end of line.
fn is_over_limits(headers: &HeaderMap) -> bool {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    headers.len() > MAX_FIELDS || size > MAX_HEAD
}
