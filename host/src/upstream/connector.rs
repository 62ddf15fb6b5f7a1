//! One connection to an origin: name, TCP, TLS, each with its own failure.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use super::failure::ConnectFailure;
use super::resolve::{Resolver, Routes};
use super::socket::OriginSocket;

/// A connection that takes longer to open is given up. A request that gets a pooled connection
/// meanwhile leaves its own one opening, with no clock of the policy's on it.
const LONGEST_OPENING: Duration = Duration::from_secs(60);
/// Silence after which the system asks whether the other side is still there, and again: so no
/// connection whose other side is gone for good is kept for ever.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Opens TLS connections; TCP by hyper-util's connector, which races the address families.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector<Resolver>,
    tls: TlsConnector,
    routes: Arc<Routes>,
}

impl Connector {
    pub(super) fn new(config: Arc<ClientConfig>, routes: Routes) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        Self { tcp, tls: TlsConnector::from(config), routes: Arc::new(routes) }
    }

    async fn connect(self, origin: Uri) -> Result<OriginStream, ConnectFailure> {
        timeout(LONGEST_OPENING, self.open(origin)).await.unwrap_or(Err(ConnectFailure::TimedOut))
    }

    async fn open(mut self, origin: Uri) -> Result<OriginStream, ConnectFailure> {
        let name = server_name(&origin)?;
        let destination = self.routes.destination(&origin).unwrap_or(origin);
        let tcp = self.tcp.call(destination).await;
        let tcp = tcp.map_err(|error| ConnectFailure::of_tcp(&error))?.into_inner();
        let tls = self.tls.connect(name, OriginSocket::new(tcp)).await;
        let tls = tls.map_err(|error| ConnectFailure::of_handshake(&error))?;
        Ok(OriginStream(TokioIo::new(tls)))
    }
}

impl Service<Uri> for Connector {
    type Response = OriginStream;
    type Error = ConnectFailure;
    type Future = Pin<Box<dyn Future<Output = Result<OriginStream, ConnectFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, origin: Uri) -> Self::Future {
        Box::pin(self.clone().connect(origin))
    }
}

/// The name that the certificate must hold; IPv6 literals lose the brackets of the URI.
fn server_name(origin: &Uri) -> Result<ServerName<'static>, ConnectFailure> {
    let host = origin.host().ok_or(ConnectFailure::Name)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    ServerName::try_from(bare.unwrap_or(host).to_owned()).map_err(|_| ConnectFailure::Name)
}

/// An open connection that says by ALPN whether it speaks h2.
pub(super) struct OriginStream(TokioIo<TlsStream<OriginSocket>>);

impl Connection for OriginStream {
    fn connected(&self) -> Connected {
        let (_, session) = self.0.inner().get_ref();
        if session.alpn_protocol() == Some(b"h2") {
            Connected::new().negotiated_h2()
        } else {
            Connected::new()
        }
    }
}

impl Read for OriginStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for OriginStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::net::TcpListener;

    use crate::upstream::{anchors, trust};

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_never_ends_is_given_up() {
        // The system accepts, and nobody answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let connector = Connector::new(trust(anchors(&[], &[]).unwrap()).unwrap(), Routes::default());
        let opened = timeout(10 * LONGEST_OPENING, connector.connect(origin)).await;
        assert_eq!(opened.expect("it was given up").err(), Some(ConnectFailure::TimedOut));
    }
}
