//! The body of an origin's answer: errors keep their class, its end is a true one, and silence is
//! bounded when the request's options say so. An origin that is still being sent the upload is not silent.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error as WasiError;

use super::failure::classify;
use super::upload::Upload;
use crate::h2_end;

/// An incoming body with the clock of `between-bytes-timeout`.
pub(super) struct AnswerBody {
    incoming: Incoming,
    version: Version,
    upload: Upload,
    silence: Option<Silence>,
}

struct Silence {
    limit: Duration,
    clock: Pin<Box<Sleep>>,
    /// Whether the clock runs: it starts when a read finds nothing, so that a slow reader on
    /// this side is not counted against the origin.
    running: bool,
}

impl AnswerBody {
    pub(super) fn wrap(
        response: Response<Incoming>,
        upload: Upload,
        between_bytes: Option<Duration>,
    ) -> Response<Self> {
        let silence = between_bytes.map(|limit| Silence {
            limit,
            clock: Box::pin(tokio::time::sleep(limit)),
            running: false,
        });
        let version = response.version();
        response.map(|incoming| Self { incoming, version, upload, silence })
    }

    fn is_cut(&self) -> bool {
        self.upload.is_whole() && !h2_end::is_true(self.version, &self.incoming)
    }
}

/// An empty chunk is no sign of life, and trailers end with the connection that they came by, as
/// the field that announces them does.
fn is_nothing(frame: &Frame<Bytes>) -> bool {
    frame.data_ref().is_none_or(Bytes::is_empty)
}

impl Silence {
    /// Resetting the clock with every chunk of the upload would cost more than looking at it once more
    /// when the clock runs out.
    fn poll(&mut self, cx: &mut Context<'_>, upload: &Upload) -> Poll<()> {
        if !self.running {
            self.running = true;
            self.clock.as_mut().reset(Instant::now() + self.limit);
        }
        while self.clock.as_mut().poll(cx).is_ready() {
            match upload.moved().map(|moved| moved + self.limit) {
                Some(later) if later > self.clock.deadline() => self.clock.as_mut().reset(later),
                _ => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        let this = self.get_mut();
        let frame = loop {
            match Pin::new(&mut this.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) if is_nothing(&frame) => {}
                frame => break frame,
            }
        };
        match frame {
            Poll::Ready(None) if this.is_cut() => Poll::Ready(Some(Err(WasiError::ConnectionTerminated))),
            Poll::Ready(frame) => {
                if let Some(silence) = &mut this.silence {
                    silence.running = false;
                }
                Poll::Ready(frame.map(|frame| frame.map_err(|error| classify(&error))))
            }
            Poll::Pending => match &mut this.silence {
                Some(silence) => {
                    silence.poll(cx, &this.upload).map(|()| Some(Err(WasiError::ConnectionReadTimeout)))
                }
                None => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
