//! The client's body on its way into the component, and what becomes of the part that the
//! component leaves unread.
//!
//! RFC 9112 section 9.6: a server that closes while the client is still sending may have the
//! client's system discard the answer unread. So an early refusal is followed by a bounded
//! reading of what still comes, as nginx does with `lingering_close`. On h2 it is RST_STREAM with
//! NO_ERROR that ends an unread body; a client must not discard an answer over it (RFC 9113 section
//! 8.1), but clients of common libraries do. So it comes only behind the same reading.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;
use wasmtime_wasi_http::Error as WasiError;

use crate::h2_end;
use crate::record::Record;

/// Time for which unread bytes are taken off the connection before it, or the stream, closes.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// How many unread bytes are taken off.
const DRAIN_BYTES: u64 = 16 * 1024 * 1024;

/// A request's body that drains itself when it is dropped before its end.
pub(crate) struct RequestBody {
    incoming: Option<Incoming>,
    version: Version,
    drains: bool,
    record: Option<Arc<Record>>,
}

impl RequestBody {
    /// Splits off the body of a request. A client that waits for `100 Continue` sends nothing until it is
    /// asked to, and on HTTP/1 reading would ask it; on h2 hyper never asks.
    pub(crate) fn of(request: Request<Incoming>) -> Request<Self> {
        let (parts, incoming) = request.into_parts();
        let drains = parts.version >= Version::HTTP_2 || !parts.headers.contains_key(EXPECT);
        let version = parts.version;
        let record = parts.extensions.get().cloned();
        Request::from_parts(parts, Self { incoming: Some(incoming), version, drains, record })
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        if !self.drains || incoming.is_end_stream() {
            return;
        }
        // Without a runtime the process is ending and there is nobody left to read.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(drain(incoming));
        }
    }
}

async fn drain(mut incoming: Incoming) {
    let reading = async {
        let mut left = DRAIN_BYTES;
        while let Some(Ok(frame)) = incoming.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
            if left == 0 {
                break;
            }
        }
    };
    // Either way the body is dropped now, and hyper closes the connection or the stream if it was not
    // whole.
    let _ = timeout(DRAIN_TIME, reading).await;
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        let this = self.get_mut();
        let Some(incoming) = &mut this.incoming else { return Poll::Ready(None) };
        // Once it is read, `100 Continue` has been sent.
        this.drains = true;
        let frame = match Pin::new(&mut *incoming).poll_frame(cx) {
            // To an origin the half of an upload would look whole.
            Poll::Ready(None) if !h2_end::is_true(this.version, incoming) => {
                Poll::Ready(Some(Err(WasiError::ConnectionTerminated)))
            }
            frame => frame.map_err(Into::into),
        };
        if let (Poll::Ready(Some(Err(_))), Some(record), Version::HTTP_2) =
            (&frame, &this.record, this.version)
        {
            record.stream_is_reset();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(SizeHint::default, Incoming::size_hint)
    }
}
