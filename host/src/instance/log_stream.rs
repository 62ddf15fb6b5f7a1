//! The component's standard error on the host's, line by line: instances write at the same time,
//! and one write of the component need not be one line.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::journal;

/// A line longer than this is passed on in pieces.
const LONGEST_LINE: usize = 64 * 1024;

/// Hands out streams to standard error.
#[derive(Clone, Copy)]
pub(super) struct LogStream;

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Lines::default())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Lines::default())
    }
}

/// Bytes of a line that is not complete yet.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        if let Some(complete) = self.push(bytes) {
            journal::pass_on(&complete);
        }
    }

    /// What is complete with these bytes.
    fn push(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.0.extend_from_slice(bytes);
        let end = match self.0.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => newline + 1,
            None if self.0.len() > LONGEST_LINE => self.0.len(),
            None => return None,
        };
        let rest = self.0.split_off(end);
        Some(std::mem::replace(&mut self.0, rest))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            self.take(b"\n");
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(LONGEST_LINE)
    }
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_passed_on() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"half a "), None);
        assert_eq!(lines.push(b"line\nand mo").as_deref(), Some(b"half a line\n".as_slice()));
        assert_eq!(lines.push(b"re\n").as_deref(), Some(b"and more\n".as_slice()));
    }

    #[test]
    fn a_line_without_an_end_is_not_held_for_ever() {
        let mut lines = Lines::default();
        let passed = lines.push(&vec![b'x'; LONGEST_LINE + 1]);
        assert_eq!(passed.map(|bytes| bytes.len()), Some(LONGEST_LINE + 1));
    }
}
