//! How far the request's own body has come when its answer ends, or is silent.
//!
//! RFC 9113 section 8.1: after a complete answer, an origin may ask by RST_STREAM with NO_ERROR for
//! the rest of the upload to be left out, and the answer counts. The h2 library forgets END_STREAM
//! over a reset that comes with it: what is left to judge by is that an origin has no reason for
//! such a reset once the upload is whole.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::Instant;
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

/// `None` for a request without content.
pub(super) struct Upload(Option<Arc<Progress>>);

#[derive(Default)]
struct Progress {
    is_whole: AtomicBool,
    moved: Mutex<Option<Instant>>,
}

impl Upload {
    pub(super) fn watch(request: Request<WasiBody>) -> (Request<WasiBody>, Self) {
        if request.body().is_end_stream() {
            return (request, Self(None));
        }
        let progress = Arc::<Progress>::default();
        let upload = Self(Some(Arc::clone(&progress)));
        (request.map(|body| WatchedBody { body, progress }.boxed_unsync()), upload)
    }

    /// Whether all of it was handed over for sending.
    pub(super) fn is_whole(&self) -> bool {
        self.0.as_ref().is_none_or(|progress| progress.is_whole.load(Ordering::Acquire))
    }

    /// When bytes of it, or its end, were last handed over for sending.
    pub(super) fn moved(&self) -> Option<Instant> {
        *self.0.as_ref()?.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn go_on(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

struct WatchedBody {
    body: WasiBody,
    progress: Arc<Progress>,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(&frame, Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(|data| !data.is_empty()))
        {
            self.progress.go_on();
        }
        if (matches!(frame, Poll::Ready(None)) || self.body.is_end_stream())
            && !self.progress.is_whole.swap(true, Ordering::AcqRel)
        {
            self.progress.go_on();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
