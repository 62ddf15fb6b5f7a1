//! The TCP stream of a client, shared with a watch on its departure.
//!
//! hyper's HTTP/1 notices that a client has left only while it reads. With an answer under way and
//! an upload that nobody asks more of, it does not read, and the request to the origin would go on
//! for nobody. The system reports the end of the client's stream all the same.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Whether `departed` ever ends on this system.
pub(super) const DEPARTURES_ARE_TOLD: bool = cfg!(any(target_os = "linux", target_os = "android"));

#[derive(Clone)]
pub(super) struct Socket(Arc<TcpStream>);

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(stream))
    }

    pub(super) async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.peek(buffer).await
    }

    /// Has the end of the connection be a reset: a body that only the end delimits would else look
    /// whole (RFC 9112 section 6.3). What the client's system has received stays readable there.
    pub(super) fn reset_at_end(&self) {
        // Refused only by a socket that has ended already.
        let _ = SockRef::from(&*self.0).set_linger(Some(Duration::ZERO));
    }

    /// Until the client has ended its side, whether or not all of it has been read. A client
    /// that only ends its sending half looks the same.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) async fn departed(self) {
        // No urgent data is ever asked for: of this interest only the end of stream remains.
        if self.0.ready(Interest::PRIORITY).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Elsewhere hyper's own notice has to do.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) async fn departed(self) {
        std::future::pending::<()>().await;
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let space = buffer.remaining();
            let mut length = 0;
            // A short read has emptied the socket: said to be blocked, it saves the next read
            // the call that would only find that out (tokio's own stream does the same).
            let read = self.0.try_io(Interest::READABLE, || {
                length = self.0.try_read_buf(buffer)?;
                let emptied = 0 < length && length < space;
                if emptied { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            match read {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Err(_) if length == 0 => ready!(self.0.poll_read_ready(cx))?,
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Socket {
    fn poll_try_write(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.0.poll_write_ready(cx))?;
                }
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |stream| stream.try_write(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |stream| stream.try_write_vectored(buffers))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(Shutdown::Write))
    }
}
