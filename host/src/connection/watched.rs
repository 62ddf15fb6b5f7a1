//! A stream that tells the connection's clock when bytes come in, and when they cannot go out. Where
//! what comes in can be read in two ways it is broken: nobody then reads it in either.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clock::Clock;

pub(super) struct Watched<S> {
    stream: S,
    clock: Arc<Clock>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, clock: Arc<Clock>) -> Self {
        Self { stream, clock }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(bytes @ [_, ..]) = buffer.filled().get(before..)
            && !self.clock.received(bytes)
        {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        read
    }
}

impl<S> Watched<S> {
    /// A write that the socket does not take leaves bytes behind, here or in hyper's buffer.
    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        if written.is_pending() {
            self.clock.blocked();
        }
        written
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    /// hyper and h2 flush the stream only behind the last byte of their own buffers.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_ready() {
            self.clock.flushed();
        }
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.note(ended)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.note(written)
    }
}
