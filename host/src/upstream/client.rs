//! Requests to origins over a pool of connections.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HOST, TRANSFER_ENCODING};
use http::uri::Scheme;
use http::{HeaderMap, Request, Response, Version};
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
use super::content;
use super::failure::classify;
use super::resolve::{Route, Routes};
use super::upload::Upload;
use crate::cores;

/// A connection that was idle for so long is not used again: origins usually close later (contract
/// 2.6). The pool looks for such connections as often as this, so one may stay open for twice as long.
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
/// What one h2 answer may be ahead of its reader.
const H2_WINDOW: u32 = 1024 * 1024;
/// What all answers on one h2 connection may be: as much as there can be (RFC 9113 section 6.9.1),
/// so that readers who do not read hold up nobody else's answer.
const H2_CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Without an option of the request, as long as `wasi:http` hosts wait by default.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The pooled https clients that all instances of one configuration share, one for each thread: a
/// connection stays on the thread that made it.
#[derive(Clone)]
pub(crate) struct Upstream {
    clients: Arc<[Client<Connector, WasiBody>]>,
}

impl Upstream {
    pub(crate) fn new(config: Arc<ClientConfig>, routes: &[Route], threads: usize) -> Self {
        let connector = Connector::new(config, Routes::new(routes));
        // Retrying is left on: it replaces a pooled connection that died before any byte of the
        // request was written, and nothing else.
        let client = || {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(IDLE_PER_ORIGIN)
                .http1_max_headers(MAX_FIELDS)
                .http1_max_buf_size(MAX_HEAD)
                .http2_max_header_list_size(MAX_H2_HEAD)
                .http2_initial_stream_window_size(H2_WINDOW)
                .http2_initial_connection_window_size(H2_CONNECTION_WINDOW)
                .http2_keep_alive_interval(H2_PING)
                .http2_keep_alive_timeout(H2_PING)
                .build(connector.clone())
        };
        Self { clients: (0..threads).map(|_| client()).collect() }
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
        let (request, upload) = Upload::watch(content::settle(request).await?);
        let response = self.exchange(request, &options).await?;
        if is_over_limits(response.headers()) {
            return Err(WasiError::HttpResponseHeaderSectionSize(None));
        }
        if is_coded(&response) {
            return Err(WasiError::HttpResponseTransferCoding(None));
        }
        let response = AnswerBody::wrap(response, upload, options.between_bytes_timeout);
        Ok(response.map(BodyExt::boxed_unsync))
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
        let client = self.clients.get(cores::this()).ok_or(WasiError::InternalError(None))?;
        let answer = client.request(request);
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

/// Whether the content is coded for the transfer in a way that nobody undoes here: the client takes
/// `chunked` off and nothing else, and no field would name the rest (RFC 9112 section 6.1).
fn is_coded<B>(response: &Response<B>) -> bool {
    let mut codings = response.headers().get_all(TRANSFER_ENCODING).iter();
    response.version() < Version::HTTP_2
        && match (codings.next(), codings.next()) {
            (None, _) => false,
            (Some(coding), None) => !coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
            (Some(_), Some(_)) => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    use bytes::Bytes;
    use http_body_util::Empty;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use crate::tls::Identity;
    use crate::upstream::{anchors, trust};

    const SHORT: Option<Duration> = Some(Duration::from_millis(100));

    /// What an origin does after accepting: no TLS at all, or TLS, a request and these bytes.
    async fn send(
        origin: Option<&'static str>,
        options: RequestOptions,
    ) -> Result<Response<WasiBody>, WasiError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let identity = Identity::of_localhost().unwrap();
        let trusted = trust(anchors(&[], &[identity.certificate().unwrap().clone()]).unwrap()).unwrap();
        let acceptor = TlsAcceptor::from(identity.into_server(&[]).unwrap());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            if let Some(answer) = origin {
                let mut stream = acceptor.accept(stream).await.unwrap();
                assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
                // Silent until the other side ends the connection.
                let _ = stream.read(&mut [0; 64]).await;
            } else {
                std::future::pending::<()>().await;
                drop(stream);
            }
        });
        let body = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
        let request = Request::get(format!("https://localhost:{port}/")).body(body).unwrap();
        Upstream::new(trusted, &[], 1).send(request, options).await
    }

    #[tokio::test]
    async fn the_connection_is_bounded_when_an_option_says_so() {
        let options = RequestOptions { connect_timeout: SHORT, ..RequestOptions::default() };
        assert!(matches!(send(None, options).await, Err(WasiError::ConnectionTimeout)));
        // An open connection has met it: a slow head is another matter.
        let options = RequestOptions { first_byte_timeout: Some(Duration::from_millis(400)), ..options };
        assert!(matches!(send(Some(""), options).await, Err(WasiError::ConnectionReadTimeout)));
    }

    #[tokio::test]
    async fn the_head_is_bounded_when_an_option_says_so() {
        let options = RequestOptions { first_byte_timeout: SHORT, ..RequestOptions::default() };
        assert!(matches!(send(Some(""), options).await, Err(WasiError::ConnectionReadTimeout)));
    }

    #[tokio::test]
    async fn silence_in_the_body_is_bounded_when_an_option_says_so() {
        let options = RequestOptions { between_bytes_timeout: SHORT, ..RequestOptions::default() };
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart";
        let mut body = send(Some(head), options).await.unwrap().into_body();
        let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(part, "part");
        assert!(matches!(body.frame().await, Some(Err(WasiError::ConnectionReadTimeout))));
    }

    #[tokio::test]
    async fn plain_http_is_denied() {
        let body = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
        let request = Request::get("http://localhost/").body(body).unwrap();
        let upstream = Upstream::new(trust(anchors(&[], &[]).unwrap()).unwrap(), &[], 1);
        let denied = upstream.send(request, RequestOptions::default()).await;
        assert!(matches!(denied, Err(WasiError::HttpRequestDenied)));
    }
}
