//! The client's request: its head for admission, its body as the upload asks for it.

use super::bindings::wasi::http::types::{ErrorCode, Request};
use super::bindings::wit_future;
use super::upstream::Completed;
use super::{Pending, translation};
use crate::policy::admission::RequestHead;
use crate::policy::exchange::Event;
use std::mem;
use std::task::{Context, Poll};
use wit_bindgen::{FutureWriter, StreamReader, StreamResult};

/// The most that is read at once. Every upload that waits for its client holds so much, so it is
/// half of what a request with an instance of its own reads.
const READ_SIZE: usize = 32 * 1024;

pub(super) struct Client {
    method: String,
    body: Body,
    /// What the host is told became of the body: resolved when the client is done with.
    handled: Option<FutureWriter<Result<(), ErrorCode>>>,
}

enum Body {
    /// Nobody has asked for it yet.
    Unopened(Request),
    Opened(Opened),
    /// A read is under way. It is never dropped for another wait: the bytes would go with it.
    Reading(Pending<(Event, Option<Opened>)>),
    Over,
}

struct Opened {
    stream: StreamReader<u8>,
    /// Resolves behind the last byte, and says whether it was the last.
    whole: Completed,
}

impl Client {
    pub(super) fn new(request: Request) -> Self {
        let method = translation::method_name(request.get_method());
        Self { method, body: Body::Unopened(request), handled: None }
    }

    /// Lets the request be judged; nothing may have been read of it.
    pub(super) fn with_head<T>(&self, admit: impl FnOnce(RequestHead<'_>) -> T) -> Option<T> {
        let Body::Unopened(request) = &self.body else { return None };
        let path_with_query = request.get_path_with_query();
        let authority = request.get_authority();
        Some(admit(RequestHead {
            method: &self.method,
            path_with_query: path_with_query.as_deref(),
            scheme: request.get_scheme().map(translation::scheme),
            authority: authority.as_deref(),
            headers: translation::lift(&request.get_headers()),
            peer: None,
        }))
    }

    /// Whether the client expects a head alone.
    pub(super) fn wants_no_body(&self) -> bool {
        self.method == "HEAD"
    }

    /// The next bytes, or the end.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            self.body = match mem::replace(&mut self.body, Body::Over) {
                Body::Unopened(request) => Body::Opened(self.open(request)),
                Body::Opened(opened) => Body::Reading(Box::pin(opened.read())),
                Body::Reading(mut reading) => match reading.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.body = Body::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready((event, rest)) => {
                        self.body = rest.map_or(Body::Over, Body::Opened);
                        return Poll::Ready(event);
                    }
                },
                Body::Over => return Poll::Ready(Event::ClientFailed),
            };
        }
    }

    fn open(&mut self, request: Request) -> Opened {
        let (handled, result) = wit_future::new(|| Ok(()));
        self.handled = Some(handled);
        let (stream, whole) = Request::consume_body(request, result);
        Opened { stream, whole }
    }
}

impl Opened {
    async fn read(mut self) -> (Event, Option<Self>) {
        let mut buffer = Vec::new();
        // A trap would cost every request of the instance: without memory this client alone is
        // given up.
        if buffer.try_reserve_exact(READ_SIZE).is_err() {
            return (Event::ClientFailed, None);
        }
        let (result, bytes) = self.stream.read(buffer).await;
        match result {
            StreamResult::Complete(_) | StreamResult::Cancelled => (Event::Chunk(bytes), Some(self)),
            StreamResult::Dropped => match self.whole.await {
                Ok(_) => (Event::ClientEnded, None),
                Err(_) => (Event::ClientFailed, None),
            },
        }
    }
}
