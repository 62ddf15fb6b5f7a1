//! A client that keeps its connection from one request to the next, as callers do.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::{BALANCER, Target, http1, http2};
use crate::case::{Over, Protocol, Request};
use crate::evidence::Outcome;

/// A client of one kind of connection.
pub struct Kept {
    target: Target,
    over: Over,
    version: Protocol,
    session: Option<Session>,
}

enum Session {
    Http1(http1::Session<Box<dyn Stream>>),
    Http2(http2::Session),
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Kept {
    /// A client that is not connected yet.
    #[must_use]
    pub fn new(target: Target, over: Over, version: Protocol) -> Self {
        Self { target, over, version, session: None }
    }

    /// Leaves the connection: the next request has one of its own.
    pub fn leave(&mut self) {
        self.session = None;
    }

    /// Sends one request, on the connection of the one before if that may be used again; at most `bound`
    /// for everything.
    pub async fn send(&mut self, request: &Request, bound: Duration) -> Outcome {
        let begun = Instant::now();
        let session = self.session.take();
        let (target, over, version) = (self.target.clone(), self.over, self.version);
        let sending = async {
            let mut session = match session {
                Some(session) => session,
                None => match open(&target, over, version).await {
                    Ok(session) => session,
                    Err(fault) => return (Outcome::Refused(fault), None),
                },
            };
            let (outcome, reusable) = match &mut session {
                Session::Http1(session) => session.send(request, begun).await,
                Session::Http2(session) => session.send(request, begun).await,
            };
            (outcome, reusable.then_some(session))
        };
        let (outcome, session) = timeout(bound, sending).await.unwrap_or((Outcome::Hung, None));
        self.session = session;
        outcome
    }
}

async fn open(target: &Target, over: Over, version: Protocol) -> Result<Session, String> {
    let tcp = TcpStream::connect(target.address).await.map_err(|error| error.to_string())?;
    let _ = tcp.set_nodelay(true);
    let io: Box<dyn Stream> = match over {
        Over::Http => Box::new(tcp),
        Over::Https => {
            let config = match version {
                Protocol::Http1 => Arc::clone(&target.http1),
                Protocol::Http2 => Arc::clone(&target.http2),
            };
            let name = ServerName::try_from(BALANCER).map_err(|error| error.to_string())?;
            let tls = TlsConnector::from(config).connect(name, tcp).await;
            Box::new(tls.map_err(|error| format!("handshake: {error}"))?)
        }
    };
    Ok(match version {
        Protocol::Http1 => Session::Http1(http1::Session::open(io)),
        Protocol::Http2 => Session::Http2(http2::Session::open(io).await?),
    })
}
