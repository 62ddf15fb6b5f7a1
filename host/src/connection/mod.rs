//! One client connection: told apart by its first byte, bounded by its clock, served until it
//! closes or the host shuts down.

mod clock;
mod framing;
mod reader;
mod socket;
mod watched;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{Request, Version};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use messageweave_lb::policy::safelist::HEALTH_PATH;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

use crate::front;
use crate::record::Ending;
use crate::serve::Host;
pub(crate) use clock::Clock;
use clock::{GOODBYE, InFlight, Verdict};
use framing::{Content, Framing};
use reader::{Reader, Streams};
use socket::{DEPARTURES_ARE_TOLD, Socket};
use watched::Watched;

/// The first byte of a TLS record that holds a handshake (RFC 8446 section 5.1). No method of
/// HTTP begins with it.
const TLS_HANDSHAKE: u8 = 0x16;
/// Streams at once on one h2 connection.
const H2_STREAMS: u32 = 128;
/// h2 counts 32 bytes more for every field than the head has (RFC 9113 section 6.5.2).
const H2_FIELD_OVERHEAD: u32 = 32;
/// A client of h2 that answers no ping for this long is gone.
const H2_PING: Duration = Duration::from_secs(20);

/// Serves one connection to its end. What goes wrong on it is the client's own affair and not
/// logged: a port scan would write a line per probe.
pub(crate) async fn serve(host: Arc<Host>, stream: TcpStream) {
    let mut stopping = host.stopping();
    let socket = Socket::new(stream);
    let departed = socket.clone().departed();
    let served = async {
        let mut first = [0];
        let patience = Duration::from_millis(host.limits().head_timeout_ms.get());
        if timeout(patience, socket.peek(&mut first)).await.ok()?.ok()? == 0 {
            return None;
        }
        if first != [TLS_HANDSHAKE] {
            return Some(Opened::Plain(socket));
        }
        let acceptor = TlsAcceptor::from(host.certificate());
        let stream = timeout(patience, acceptor.accept(socket)).await.ok()?.ok()?;
        Some(Opened::Tls(Box::new(stream)))
    };
    let opened = tokio::select! {
        opened = served => opened,
        () = stopping.wait() => None,
    };
    match opened {
        Some(Opened::Plain(stream)) => {
            let socket = Some(stream.clone());
            serve_http1(host, stream, socket, departed, Scheme::Http).await;
        }
        Some(Opened::Tls(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            serve_http2(host, *stream).await;
        }
        Some(Opened::Tls(stream)) => serve_http1(host, *stream, None, departed, Scheme::Https).await,
        None => {}
    }
}

enum Opened {
    Plain(Socket),
    Tls(Box<tokio_rustls::server::TlsStream<Socket>>),
}

/// `socket` is what a body that breaks off has to reset: TLS tells by itself whether it ended whole.
async fn serve_http1(
    host: Arc<Host>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    socket: Option<Socket>,
    departed: impl Future<Output = ()>,
    scheme: Scheme,
) {
    let clock = Arc::new(Clock::new(host.limits(), GOODBYE, Framing::http1()));
    let io = TokioIo::new(Watched::new(stream, Arc::clone(&clock)));
    let limits = host.limits();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // The host's own clock tells a slow head from an idle connection; hyper's does not.
        .header_read_timeout(None)
        // And `departed` knows whether anything is worth ending for a client that has ended its side.
        .half_close(DEPARTURES_ARE_TOLD)
        .max_buf_size(usize::try_from(limits.max_head_bytes).unwrap_or(usize::MAX))
        .max_headers(usize::try_from(limits.max_head_fields).unwrap_or(usize::MAX));
    let service = {
        let (host, clock) = (Arc::clone(&host), Arc::clone(&clock));
        service_fn(move |request: Request<Incoming>| {
            // HTTP/1.1 clients get chunks.
            let delimiter = socket.as_ref().filter(|_| request.version() < Version::HTTP_11).cloned();
            let in_flight = Arc::clone(&clock).begin(content_of(&request));
            answer(Arc::clone(&host), Arc::clone(&clock), in_flight, scheme.clone(), request, delimiter)
        })
    };
    drive(&host, &clock, departed, builder.serve_connection(io, service)).await;
}

async fn serve_http2(host: Arc<Host>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    // h2 ends by itself once the client has answered the ping that goes with GOAWAY (RFC 9113
    // section 6.8) and has opened its windows for what waits in h2's own buffer.
    let clock = Arc::new(Clock::new(host.limits(), H2_PING, Framing::http2()));
    let io = TokioIo::new(Watched::new(stream, Arc::clone(&clock)));
    let limits = host.limits();
    let overhead = limits.max_head_fields.saturating_mul(H2_FIELD_OVERHEAD);
    let mut builder = http2::Builder::new(Streams(Arc::clone(&clock)));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(H2_STREAMS)
        .max_header_list_size(limits.max_head_bytes.saturating_add(overhead))
        .keep_alive_interval(H2_PING)
        .keep_alive_timeout(H2_PING);
    let service = {
        let (host, clock) = (Arc::clone(&host), Arc::clone(&clock));
        service_fn(move |request| {
            let in_flight = Arc::clone(&clock).begin(content_of(&request));
            answer(Arc::clone(&host), Arc::clone(&clock), in_flight, Scheme::Https, request, None)
        })
    };
    // hyper's h2 always reads and sees for itself that the client has left.
    let departed = std::future::pending();
    drive(&host, &clock, departed, builder.serve_connection(io, service)).await;
}

/// One request; the clock counts it as in flight until its answer has been taken or dropped.
async fn answer(
    host: Arc<Host>,
    clock: Arc<Clock>,
    in_flight: InFlight,
    scheme: Scheme,
    mut request: Request<Incoming>,
    delimiter: Option<Socket>,
) -> Result<http::Response<clock::Counted>, std::convert::Infallible> {
    let is_malformed = clock.is_malformed();
    // The health view asks origins for itself: it goes on for a client that has ended its half.
    if request.uri().path() != HEALTH_PATH {
        request.extensions_mut().insert(clock);
    }
    let record = host.observers().begin(&request);
    if let Some(record) = &record {
        request.extensions_mut().insert(Arc::clone(record));
    }
    let ending = Ending::of(record);
    let response = match is_malformed {
        true => front::malformed_body(),
        false => front::respond(host.instances(), scheme, host.limits(), request).await,
    };
    let delimiter = delimiter.filter(|_| !response.headers().contains_key(CONTENT_LENGTH));
    let ending = ending.with(response.status());
    let reader = Reader::of_stream();
    Ok(response.map(|body| in_flight.until_end_of(body, delimiter, reader, ending)))
}

/// How hyper frames the content of a request that it has just read.
fn content_of(request: &Request<Incoming>) -> Content {
    let body = request.body();
    match body.size_hint().exact() {
        _ if body.is_end_stream() => Content::None,
        Some(length) => Content::Length(length),
        None => Content::Chunked,
    }
}

/// Polls a connection beside its clock, the client's departure and the host's end.
async fn drive(
    host: &Host,
    clock: &Clock,
    departed: impl Future<Output = ()>,
    connection: impl GracefulConnection,
) {
    let mut connection = pin!(connection);
    // A client may only have ended its half and still read: what it gets without being forwarded, it
    // gets. A request that is forwarded goes on for nobody: who has left looks just the same.
    let mut abandoned = pin!(async {
        departed.await;
        clock.origin_reached().await;
    });
    let mut stopping = host.stopping();
    let mut stopped = pin!(stopping.wait());
    let mut leaving = None;
    let mut armed = clock.deadline(leaving);
    let mut alarm = pin!(tokio::time::sleep_until(armed));
    poll_fn(|cx| {
        if leaving.is_none() && stopped.as_mut().poll(cx).is_ready() {
            leaving = Some(Instant::now());
            connection.as_mut().graceful_shutdown();
        }
        loop {
            if connection.as_mut().poll(cx).is_ready() || abandoned.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let deadline = clock.deadline(leaving);
            // A later deadline waits for the alarm that is set: setting it costs more than
            // looking again once.
            if deadline < armed || alarm.is_elapsed() {
                armed = deadline;
                alarm.as_mut().reset(deadline);
            }
            if alarm.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            match clock.verdict(leaving) {
                Verdict::GoOn => {}
                Verdict::SayGoodbye => {
                    leaving = Some(Instant::now());
                    connection.as_mut().graceful_shutdown();
                }
                Verdict::Close => return Poll::Ready(()),
            }
        }
    })
    .await;
}
