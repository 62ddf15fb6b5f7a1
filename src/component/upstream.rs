//! One request to an origin: opened, fed with the client's body, answered.

use super::bindings::wasi::http::outgoing_handler;
use super::bindings::wasi::http::types::{
    FutureIncomingResponse, IncomingResponse, OutgoingBody, OutgoingRequest, Scheme,
};
use super::bindings::wasi::io::poll::Pollable;
use super::bindings::wasi::io::streams::OutputStream;
use super::translation;
use crate::policy::exchange::{Event, Request, ResponseHead};
use crate::policy::failure::FailureClass;
use crate::policy::time::Millis;

/// The shell itself watches the silence between two chunks.
const WATCHED_HERE: Option<Millis> = None;

/// Handles in the order in which they must be dropped.
pub(super) struct Upstream {
    pub(super) answered: Pollable,
    future: FutureIncomingResponse,
    /// Kept unfinished to the end of the response when the origin stops reading early: dropping it
    /// sooner would cut the response.
    upload: Option<Outlet>,
}

struct Outlet {
    ready: Pollable,
    stream: OutputStream,
    body: OutgoingBody,
}

impl Upstream {
    /// Opens the request; the body, if there is one, is still to be written.
    pub(super) fn open(request: Request<'_>) -> Result<Self, FailureClass> {
        let outgoing = OutgoingRequest::new(translation::lower(request.headers.as_slice()));
        let destination = request.destination;
        let accepted = translation::set_method(&outgoing, request.method)
            && outgoing.set_scheme(Some(&Scheme::Https)).is_ok()
            && outgoing.set_authority(Some(destination.origin().authority())).is_ok()
            && outgoing.set_path_with_query(Some(destination.path_with_query())).is_ok();
        if !accepted {
            return Err(FailureClass::Invalid);
        }
        let upload = match request.body {
            true => Some(Outlet::open(&outgoing).ok_or(FailureClass::Internal)?),
            false => None,
        };
        let future = outgoing_handler::handle(outgoing, Some(translation::options(WATCHED_HERE)))
            .map_err(|code| translation::class(&code))?;
        Ok(Self { answered: future.subscribe(), future, upload })
    }

    /// The answer, or nothing while it has not come.
    pub(super) fn response(&self) -> Option<Result<(ResponseHead, IncomingResponse), FailureClass>> {
        Some(match self.future.get()? {
            Ok(Ok(response)) => {
                let head = ResponseHead {
                    status: response.status(),
                    headers: translation::lift(&response.headers()),
                };
                Ok((head, response))
            }
            Ok(Err(code)) => Err(translation::class(&code)),
            Err(()) => Err(FailureClass::Internal),
        })
    }

    /// Ready when the request takes bytes.
    pub(super) fn writable(&self) -> Option<&Pollable> {
        self.upload.as_ref().map(|outlet| &outlet.ready)
    }

    /// Writes as much as the host takes at once.
    pub(super) fn write(&self, pending: &[u8]) -> Option<Event> {
        let Some(outlet) = &self.upload else {
            return Some(Event::UploadClosed);
        };
        let Ok(permit) = outlet.stream.check_write() else {
            return Some(Event::UploadClosed);
        };
        let count = usize::try_from(permit).unwrap_or(usize::MAX).min(pending.len());
        if count == 0 {
            return None;
        }
        let chunk = pending.get(..count).unwrap_or_default();
        Some(match outlet.stream.write(chunk) {
            Ok(()) => Event::Took(count),
            Err(_) => Event::UploadClosed,
        })
    }

    /// Ends the body, whole.
    pub(super) fn finish(&mut self) -> Event {
        let Some(Outlet { ready, stream, body }) = self.upload.take() else {
            return Event::Finished;
        };
        // A stream that is closed already has nothing to flush.
        let _ = stream.flush();
        drop(ready);
        drop(stream);
        match OutgoingBody::finish(body, None) {
            Ok(()) => Event::Finished,
            // The host counted another length than was announced; it ends the request itself.
            Err(_) => Event::UploadClosed,
        }
    }
}

impl Outlet {
    fn open(request: &OutgoingRequest) -> Option<Self> {
        let body = request.body().ok()?;
        let stream = body.write().ok()?;
        Some(Self { ready: stream.subscribe(), stream, body })
    }
}
