//! The component's request body on its way to an origin. The library ends such a body cleanly when
//! its store dies: to an origin half an upload would look whole. So the death of a store is known
//! before anything in it goes, and an end that comes after it is an error.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

/// Has to be the first field of a store's data, so that it is dropped first.
#[derive(Default)]
pub(super) struct Life(Arc<AtomicBool>);

impl Life {
    pub(super) fn death(&self) -> Death {
        Death(Arc::clone(&self.0))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Tells whether the store is dead.
#[derive(Clone)]
pub(super) struct Death(Arc<AtomicBool>);

impl Death {
    /// The body, with an end that is true.
    pub(super) fn guard(&self, body: WasiBody) -> WasiBody {
        if body.is_end_stream() {
            return body;
        }
        OutgoingBody { body, death: self.clone() }.boxed_unsync()
    }
}

struct OutgoingBody {
    body: WasiBody,
    death: Death,
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(None) if this.death.0.load(Ordering::Acquire) => {
                Poll::Ready(Some(Err(WasiError::ConnectionTerminated)))
            }
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use wasmtime_wasi_http::p2::body::{HostOutgoingBody, StreamContext};

    #[tokio::test]
    async fn a_body_that_its_store_leaves_behind_does_not_end_cleanly() {
        let life = Life::default();
        let (host, body) = HostOutgoingBody::new(StreamContext::Request, None, 1, 1024);
        let mut body = life.death().guard(body);
        drop(life);
        drop(host);
        assert!(matches!(body.frame().await, Some(Err(WasiError::ConnectionTerminated))));
    }

    #[tokio::test]
    async fn a_body_that_is_finished_ends_cleanly() {
        let life = Life::default();
        let (host, body) = HostOutgoingBody::new(StreamContext::Request, None, 1, 1024);
        let mut body = life.death().guard(body);
        host.finish(None).unwrap();
        assert!(body.frame().await.is_none());
    }
}
