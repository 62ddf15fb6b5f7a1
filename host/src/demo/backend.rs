//! One demo backend: says its name, takes webhooks, and can be stopped by a request.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::serve::Stop;

/// `POST` here and the backend closes its port, as a crashed one would.
pub(super) const STOP_PATH: &str = "/demo/stop";

/// Bytes of a request that a demo takes.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Pause after a failed accept.
const BREATHER: Duration = Duration::from_millis(50);

pub(super) struct Backend {
    name: &'static str,
    stop: Stop,
}

impl Backend {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, stop: Stop::new() }
    }

    /// Serves until it is stopped.
    pub(super) async fn run(self, listener: TcpListener, acceptor: TlsAcceptor) {
        let backend = Arc::new(self);
        let mut stopping = backend.stop.subscribe();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tokio::spawn(Arc::clone(&backend).serve(stream, acceptor.clone()));
                    }
                    Err(_) => tokio::time::sleep(BREATHER).await,
                },
                () = stopping.wait() => return,
            }
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, acceptor: TlsAcceptor) {
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let mut stopping = self.stop.subscribe();
        let service = service_fn(|request| self.answer(request));
        let mut builder = http1::Builder::new();
        let connection = builder.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopping.wait() => connection.as_mut().graceful_shutdown(),
        }
        // The answer that stopped it is still to be written; how the connection ends is the same.
        let _ = connection.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await;
        let Ok(body) = body.map(|body| body.to_bytes()) else {
            return Ok(self.say(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", "too large\n".to_owned()));
        };
        let (path, name) = (parts.uri.path(), self.name);
        Ok(match (&parts.method, path) {
            (&Method::POST, STOP_PATH) => {
                self.stop.say();
                self.say(StatusCode::OK, "text/plain", format!("{name} is stopping\n"))
            }
            (&Method::GET, "/") => self.say(StatusCode::OK, "text/html; charset=utf-8", self.page()),
            (&Method::GET, "/healthz" | "/ready") => {
                self.say(StatusCode::OK, "text/plain", "ok\n".to_owned())
            }
            (&Method::GET, "/assets/config.js") => {
                self.say(StatusCode::OK, "text/javascript", format!("export const backend = \"{name}\";\n"))
            }
            (&Method::GET, "/assets/styles.css") => {
                self.say(StatusCode::OK, "text/css", "body { font-family: sans-serif }\n".to_owned())
            }
            // The safelist lets no other path through.
            _ => self.say(StatusCode::OK, "application/json", self.receipt(&parts.method, path, &body)),
        })
    }

    fn page(&self) -> String {
        format!(
            "<!doctype html>\n<title>MessageWeave</title>\n<link rel=\"stylesheet\" href=\"/assets/styles.css\">\n\
             <p>This page comes from the backend <b>{}</b>.</p>\n",
            self.name
        )
    }

    fn receipt(&self, method: &Method, path: &str, body: &Bytes) -> String {
        let path = path.escape_default();
        format!(
            "{{\"ok\":true,\"backend\":\"{}\",\"request\":\"{method} {path}\",\"bytes\":{}}}\n",
            self.name,
            body.len()
        )
    }

    fn say(&self, status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(text.into()));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}
