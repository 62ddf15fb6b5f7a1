//! The client of a case on real sockets: exact bytes over HTTP/1.1, and h2.

mod http1;
mod http2;
mod kept;
mod reader;
mod writer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::case::{Over, Protocol, Request};
use crate::evidence::Outcome;

pub use kept::Kept;
pub(crate) use writer::{length, lines};

/// Where the balancer listens, and how to speak TLS to it.
#[derive(Clone)]
pub struct Target {
    /// The listening address.
    pub address: SocketAddr,
    /// TLS with ALPN `http/1.1`.
    pub http1: Arc<ClientConfig>,
    /// TLS with ALPN `h2`.
    pub http2: Arc<ClientConfig>,
}

/// The name on the balancer's certificate.
pub const BALANCER: &str = "lb.example";

/// Sends one request on a connection of its own; at most `bound` for everything.
pub async fn send(target: &Target, request: &Request, bound: Duration) -> Outcome {
    let begun = Instant::now();
    match timeout(bound, connect_and_send(target, request, begun)).await {
        Ok(outcome) => outcome,
        Err(_) => Outcome::Hung,
    }
}

async fn connect_and_send(target: &Target, request: &Request, begun: Instant) -> Outcome {
    let tcp = match TcpStream::connect(target.address).await {
        Ok(tcp) => tcp,
        Err(error) => return Outcome::Refused(format!("connecting: {error}")),
    };
    let _ = tcp.set_nodelay(true);
    let socket = match socket2::SockRef::from(&tcp).try_clone() {
        Ok(socket) => socket,
        Err(error) => return Outcome::Unplayable(error.to_string()),
    };
    if request.over == Over::Http {
        return match request.version {
            Protocol::Http1 => http1::send(tcp, &socket, request, begun).await,
            Protocol::Http2 => http2::send(tcp, request, begun).await,
        };
    }
    let config = match request.version {
        Protocol::Http1 => target.http1.clone(),
        Protocol::Http2 => target.http2.clone(),
    };
    let name = match ServerName::try_from(BALANCER) {
        Ok(name) => name,
        Err(error) => return Outcome::Unplayable(error.to_string()),
    };
    match TlsConnector::from(config).connect(name, tcp).await {
        Ok(tls) => match request.version {
            Protocol::Http1 => http1::send(tls, &socket, request, begun).await,
            Protocol::Http2 => http2::send(tls, request, begun).await,
        },
        Err(error) => Outcome::Refused(format!("handshake: {error}")),
    }
}

fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
