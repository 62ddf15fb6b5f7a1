//! The client's request: its head for admission, its body as the upload asks for it.

use super::bindings::wasi::http::types::{IncomingBody, IncomingRequest};
use super::bindings::wasi::io::poll::Pollable;
use super::bindings::wasi::io::streams::{InputStream, StreamError};
use super::translation;
use crate::policy::admission::RequestHead;
use crate::policy::exchange::Event;

/// The most that is read at once; a whole chunk may stand beside the replay copy.
const READ_SIZE: u64 = 64 * 1024;

pub(super) struct Client {
    method: String,
    body: Option<Body>,
    // Declared last: a request outlives what was taken out of it.
    request: IncomingRequest,
}

/// Handles in the order in which they must be dropped.
struct Body {
    ready: Pollable,
    stream: InputStream,
    _body: IncomingBody,
}

impl Client {
    pub(super) fn new(request: IncomingRequest) -> Self {
        Self { method: translation::method_name(request.method()), body: None, request }
    }

    pub(super) fn with_head<T>(&mut self, admit: impl FnOnce(RequestHead<'_>) -> T) -> T {
        let path_with_query = self.request.path_with_query();
        let authority = self.request.authority();
        admit(RequestHead {
            method: &self.method,
            path_with_query: path_with_query.as_deref(),
            scheme: self.request.scheme().map(translation::scheme),
            authority: authority.as_deref(),
            headers: translation::lift(&self.request.headers()),
            peer: None,
        })
    }

    /// Whether the client expects a head alone.
    pub(super) fn wants_no_body(&self) -> bool {
        self.method == "HEAD"
    }

    /// Ready when [`read`](Self::read) has something to say. Opens the body at the first call.
    pub(super) fn ready(&mut self) -> Option<&Pollable> {
        if self.body.is_none() {
            self.body = self.open();
        }
        self.body.as_ref().map(|body| &body.ready)
    }

    /// Reads what has come, if anything has.
    pub(super) fn read(&mut self) -> Option<Event> {
        let Some(body) = &self.body else {
            return Some(Event::ClientFailed);
        };
        match body.stream.read(READ_SIZE) {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => Some(Event::Chunk(bytes)),
            Err(StreamError::Closed) => Some(Event::ClientEnded),
            Err(StreamError::LastOperationFailed(_)) => Some(Event::ClientFailed),
        }
    }

    fn open(&self) -> Option<Body> {
        let body = self.request.consume().ok()?;
        let stream = body.stream().ok()?;
        Some(Body { ready: stream.subscribe(), stream, _body: body })
    }
}
