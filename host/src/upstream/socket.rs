//! The TCP connection below TLS: a failed write never hides an answer that is already there.
//!
//! RFC 9112 section 9.5: an origin may answer before it has read the whole request, and close; a
//! client that is still sending should then look for that answer. The close shows as a reset of the
//! next write, and the HTTP library gives a connection up at the first failed write. So a write that
//! finds nobody is taken and thrown away, and the reading side says how the exchange ended: with
//! the answer, or with an end of stream that is too early.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

pub(super) struct OriginSocket {
    tcp: TcpStream,
    /// The other side reads no more.
    is_deaf: bool,
}

impl OriginSocket {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Self { tcp, is_deaf: false }
    }

    fn written(&mut self, result: io::Result<usize>, length: usize) -> io::Result<usize> {
        match result {
            Err(error) if is_closed(error.kind()) => {
                self.is_deaf = true;
                Ok(length)
            }
            result => result,
        }
    }
}

fn is_closed(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
    )
}

impl AsyncRead for OriginSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for OriginSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_deaf {
            return Poll::Ready(Ok(buffer.len()));
        }
        let result = ready!(Pin::new(&mut self.tcp).poll_write(cx, buffer));
        Poll::Ready(self.written(result, buffer.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = buffers.iter().map(|buffer| buffer.len()).sum();
        if self.is_deaf {
            return Poll::Ready(Ok(length));
        }
        let result = ready!(Pin::new(&mut self.tcp).poll_write_vectored(cx, buffers));
        Poll::Ready(self.written(result, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_write_that_finds_nobody_leaves_the_answer_to_be_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut ours = OriginSocket::new(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap());
        let (mut origin, _) = listener.accept().await.unwrap();
        ours.write_all(b"request").await.unwrap();
        origin.readable().await.unwrap();
        origin.write_all(b"answer").await.unwrap();
        // With bytes unread, this resets the connection.
        drop(origin);
        for _ in 0..3 {
            ours.write_all(b"more of the request").await.unwrap();
        }
        let mut answer = Vec::new();
        ours.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
    }
}
