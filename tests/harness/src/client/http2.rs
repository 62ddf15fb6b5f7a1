//! One request over h2.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::since;
use super::writer::{length, lines};
use crate::case::{Body, Ending, Over, Piece, Request};
use crate::evidence::{Outcome, Received};
use crate::origin::send_run;

pub(super) async fn send(
    io: impl AsyncRead + AsyncWrite + Unpin,
    request: &Request,
    begun: Instant,
) -> Outcome {
    let head = match head(request) {
        Ok(head) => head,
        Err(fault) => return Outcome::Unplayable(fault),
    };
    let (mut client, mut connection) = match h2::client::handshake(io).await {
        Ok(pair) => pair,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let exchange = exchange(&mut client, head, request, begun);
    tokio::pin!(exchange);
    let outcome = tokio::select! {
        outcome = &mut exchange => outcome,
        _ = &mut connection => exchange.await,
    };
    if matches!(outcome, Outcome::Gone) {
        // The reset of the stream is still to be written.
        let _ = timeout(Duration::from_millis(100), connection).await;
    }
    outcome
}

async fn exchange(
    client: &mut SendRequest<Bytes>,
    head: http::Request<()>,
    request: &Request,
    begun: Instant,
) -> Outcome {
    let (answer, mut stream) = match client.send_request(head, request.body.is_none()) {
        Ok(pair) => pair,
        Err(error) => return Outcome::Unplayable(error.to_string()),
    };
    let answer = receive(answer, begun);
    let upload = write(&mut stream, request.body.as_ref());
    tokio::pin!(answer, upload);
    tokio::select! {
        outcome = &mut answer => outcome,
        left = &mut upload => if left { Outcome::Gone } else { answer.await },
    }
}

/// A connection that serves one request after another.
pub(super) struct Session {
    client: SendRequest<Bytes>,
    _driver: JoinSet<()>,
}

impl Session {
    pub(super) async fn open(
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, String> {
        let (client, connection) = h2::client::handshake(io).await.map_err(|error| error.to_string())?;
        let mut driver = JoinSet::new();
        driver.spawn(async { drop(connection.await) });
        Ok(Self { client, _driver: driver })
    }

    /// Sends a request; says besides whether the connection can take another.
    pub(super) async fn send(&mut self, request: &Request, begun: Instant) -> (Outcome, bool) {
        let head = match head(request) {
            Ok(head) => head,
            Err(fault) => return (Outcome::Unplayable(fault), false),
        };
        let outcome = match poll_fn(|cx| self.client.poll_ready(cx)).await {
            Ok(()) => exchange(&mut self.client, head, request, begun).await,
            Err(error) => Outcome::Refused(error.to_string()),
        };
        // A stream that broke leaves the connection whole; if not, the next request would tell late.
        let whole = matches!(&outcome, Outcome::Answer(answer) if answer.broken.is_none());
        (outcome, whole)
    }
}

fn head(request: &Request) -> Result<http::Request<()>, String> {
    if request.raw.is_some() {
        return Err("raw bytes are for HTTP/1.1".to_owned());
    }
    let mut hosts = request.host.iter();
    let mut head = http::Request::new(());
    *head.method_mut() = request.method.parse().map_err(|_| "an odd method")?;
    *head.version_mut() = http::Version::HTTP_2;
    *head.uri_mut() = if request.target.starts_with('/') {
        let host = hosts.next().ok_or("an h2 request without an authority")?;
        let tls = request.over == Over::Https;
        let target = PathAndQuery::try_from(request.target.as_str());
        Uri::builder()
            .scheme(if tls { Scheme::HTTPS } else { Scheme::HTTP })
            .authority(Authority::try_from(host.0.as_slice()).map_err(|_| "an odd authority")?)
            .path_and_query(target.map_err(|_| "an odd target")?)
            .build()
            .map_err(|error| error.to_string())?
    } else {
        request.target.parse().map_err(|_| "an odd target")?
    };
    let hosts = hosts.map(|host| ("host".to_owned(), host.0.clone()));
    let length = length(request).map(|n| ("content-length".to_owned(), n.to_string().into_bytes()));
    for (name, value) in hosts.chain(lines(request)).chain(length) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let value = HeaderValue::from_bytes(&value).map_err(|error| error.to_string())?;
        head.headers_mut().append(name, value);
    }
    Ok(head)
}

/// Sends the body; true when the client leaves in the middle of it.
async fn write(stream: &mut SendStream<Bytes>, body: Option<&Body>) -> bool {
    let Some(body) = body else { return false };
    for piece in &body.0 {
        match piece {
            Piece::Pause(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
            Piece::End(Ending::Stall) => return false,
            Piece::End(Ending::Close | Ending::Reset) => {
                stream.send_reset(Reason::CANCEL);
                return true;
            }
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(64 * 1024) {
                    if send_run(stream, run.into()).await.is_none() {
                        return false;
                    }
                }
            }
        }
    }
    let _ = stream.send_data(Bytes::new(), true);
    false
}

async fn receive(answer: ResponseFuture, begun: Instant) -> Outcome {
    let (head, mut body) = match answer.await {
        Ok(answer) => answer.into_parts(),
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let lines = head.headers.iter();
    let mut received = Received {
        status: head.status.as_u16(),
        headers: lines.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
        head_ms: since(begun),
        ..Received::default()
    };
    received.broken = receive_body(&mut body, &mut received, begun).await.err();
    received.whole_ms = since(begun);
    Outcome::Answer(received)
}

async fn receive_body(body: &mut RecvStream, received: &mut Received, begun: Instant) -> Result<(), String> {
    while let Some(bytes) = body.data().await {
        let bytes = bytes.map_err(|error| error.to_string())?;
        let _ = body.flow_control().release_capacity(bytes.len());
        received.body.push(&bytes);
        received.arrivals.push((received.body.len(), since(begun)));
    }
    poll_fn(|cx| body.poll_trailers(cx)).await.map(drop).map_err(|error| error.to_string())
}
