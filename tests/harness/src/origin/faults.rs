//! The connection under an h2 mock, shared so that a fault can write or reset it past the library.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::connection::reset;

/// A TLS connection with several handles.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<TlsStream<TcpStream>>>);

/// RFC 9113 section 6.8: last stream 0, NO_ERROR; the request in hand is not processed.
const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

impl Shared {
    pub(super) fn new(tls: TlsStream<TcpStream>) -> Self {
        Self(Arc::new(Mutex::new(tls)))
    }

    /// The connection ends with RST once every handle is dropped.
    pub(super) fn reset(&self) {
        reset(self.lock().get_ref().0);
    }

    /// Sends the GOAWAY by hand: the library never excludes a stream that it has shown.
    pub(super) async fn goaway(&mut self) -> io::Result<()> {
        self.write_all(&GOAWAY).await?;
        self.flush().await
    }

    fn lock(&self) -> MutexGuard<'_, TlsStream<TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(cx)
    }
}
