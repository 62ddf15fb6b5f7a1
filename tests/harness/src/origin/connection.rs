//! Connections to a mock origin: accepted, broken if the script says so, else served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Behaviour, CertificateAuthority, Recorder, http1, http2};
use crate::case::{ConnectionFault, Protocol, Turn};

/// What all connections to one mock origin share.
pub(super) struct Listening {
    pub(super) url: String,
    name: String,
    version: Protocol,
    behaviour: Arc<dyn Behaviour>,
    pub(super) recorder: Arc<Recorder>,
    tls: Arc<ServerConfig>,
    bad: BTreeMap<u8, Arc<ServerConfig>>,
}

impl Listening {
    pub(super) fn new(
        url: &str,
        version: Protocol,
        faults: &[ConnectionFault],
        authority: &CertificateAuthority,
        behaviour: Arc<dyn Behaviour>,
        recorder: Arc<Recorder>,
    ) -> Result<Self, String> {
        let name = url::Url::parse(url)
            .ok()
            .and_then(|url| url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned()))
            .ok_or("an origin without a host")?;
        let mut bad = BTreeMap::new();
        for fault in faults.iter().copied().filter(|fault| bad_certificate(*fault)) {
            bad.insert(fault as u8, authority.server(&name, version, Some(fault))?);
        }
        let tls = authority.server(&name, version, None)?;
        Ok(Self { url: url.to_owned(), name, version, behaviour, recorder, tls, bad })
    }

    /// The turn for a request, and whether the connection has to end after it.
    pub(super) fn turn(&self, target: &[u8]) -> Option<(Turn, bool)> {
        self.behaviour.request(target)
    }

    pub(super) fn complain(&self, text: &str) {
        self.recorder.complain(&self.url, text);
    }

    /// RFC 6066 section 3: the name is sent, an IP literal never is.
    fn check_sni(&self, tls: &TlsStream<TcpStream>) {
        let literal = self.name.parse::<std::net::IpAddr>().is_ok();
        let expected = (!literal).then_some(self.name.as_str());
        let sent = tls.get_ref().1.server_name();
        if sent != expected {
            self.complain(&format!("SNI is {sent:?}, not {expected:?}"));
        }
    }
}

/// Accepts until the case is over.
pub(super) async fn accept(listener: TcpListener, listening: Arc<Listening>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((tcp, _)) = accepted {
                    connections.spawn(connection(tcp, listening.clone()));
                }
            }
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    listening.complain(&format!("the mock panicked: {error}"));
                }
            }
        }
    }
}

async fn connection(tcp: TcpStream, listening: Arc<Listening>) {
    listening.recorder.contact(&listening.url);
    let _ = tcp.set_nodelay(true);
    let fault = listening.behaviour.connection();
    match fault {
        None => serve(tcp, &listening).await,
        Some(ConnectionFault::Reset) => reset(&tcp),
        Some(ConnectionFault::Close) => close(tcp).await,
        Some(ConnectionFault::Silent) => swallow(tcp).await,
        Some(ConnectionFault::PlainHttp) => plain_http(tcp).await,
        Some(certificate) => bad_handshake(tcp, &listening, certificate).await,
    }
}

async fn serve(tcp: TcpStream, listening: &Arc<Listening>) {
    // A handshake that the client gives up is its own affair: what it should have sent is missed.
    let Ok(tls) = TlsAcceptor::from(listening.tls.clone()).accept(tcp).await else {
        return;
    };
    listening.check_sni(&tls);
    match listening.version {
        Protocol::Http1 => http1::serve(tls, listening).await,
        Protocol::Http2 => http2::serve(tls, listening).await,
    }
}

/// The next `drop` of the socket sends RST.
pub(super) fn reset(tcp: &TcpStream) {
    let _ = SockRef::from(tcp).set_linger(Some(Duration::ZERO));
}

async fn swallow(mut tcp: TcpStream) {
    let mut buffer = [0; 4096];
    while matches!(tcp.read(&mut buffer).await, Ok(count) if count > 0) {}
}

/// An orderly end: closing with the client's hello unread would be RST.
async fn close(mut tcp: TcpStream) {
    let mut hello = [0; 4096];
    let _ = tcp.read(&mut hello).await;
    let _ = tcp.shutdown().await;
    swallow(tcp).await;
}

async fn plain_http(mut tcp: TcpStream) {
    let mut hello = [0; 4096];
    let _ = tcp.read(&mut hello).await;
    let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = tcp.write_all(answer).await;
    let _ = tcp.shutdown().await;
    swallow(tcp).await;
}

async fn bad_handshake(tcp: TcpStream, listening: &Listening, fault: ConnectionFault) {
    let Some(tls) = listening.bad.get(&(fault as u8)) else { return };
    if let Ok(mut tls) = TlsAcceptor::from(tls.clone()).accept(tcp).await {
        // TLS 1.3: the client's refusal comes after the server's handshake is done.
        let mut buffer = [0; 1];
        if matches!(tls.read(&mut buffer).await, Ok(count) if count > 0) {
            listening.complain(&format!("a request over a certificate that is {fault:?}"));
        }
    }
}

fn bad_certificate(fault: ConnectionFault) -> bool {
    use ConnectionFault::{Expired, SelfSigned, WrongName};
    matches!(fault, WrongName | SelfSigned | Expired)
}
