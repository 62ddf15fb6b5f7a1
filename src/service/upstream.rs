//! One request to an origin: opened, fed with the client's body, answered.

use super::bindings::wasi::http::client;
use super::bindings::wasi::http::types::{ErrorCode, Request, Response, Scheme, Trailers};
use super::bindings::{wit_future, wit_stream};
use super::{Pending, translation};
use crate::cancellation::CLIENT_GONE;
use crate::policy::exchange::{self, Event, ResponseHead};
use crate::policy::failure::FailureClass;
use std::mem;
use std::task::{Context, Poll};
use wit_bindgen::{FutureReader, FutureWriter, StreamReader, StreamResult, StreamWriter, spawn_local};

/// The most that is written at once.
const WRITE_SIZE: usize = 32 * 1024;

pub(super) struct Upstream {
    answer: Option<Pending<Result<Response, ErrorCode>>>,
    upload: Outlet,
    /// Dropping it may cut the exchange off, on either side: it is kept to the end of both.
    transmitted: FutureReader<Result<(), ErrorCode>>,
}

/// The body of the request. What is dropped here before its end breaks the request off.
enum Outlet {
    Open(StreamWriter<u8>, Completion),
    Writing(Pending<(StreamResult, StreamWriter<u8>)>, Completion),
    /// There is no body, or it is complete.
    Closed,
}

/// What follows the last byte of a body, and says that it was the last.
type Completion = FutureWriter<Result<Option<Trailers>, ErrorCode>>;
pub(super) type Completed = FutureReader<Result<Option<Trailers>, ErrorCode>>;

impl Upstream {
    /// Opens the request; the body, if there is one, is still to be written.
    pub(super) fn open(request: exchange::Request<'_>) -> Result<Self, FailureClass> {
        let (upload, contents, completed) = Outlet::open(request.body);
        let (outgoing, transmitted) = Request::new(
            translation::lower(request.headers.as_slice()),
            contents,
            completed,
            Some(translation::options(Some(request.silence))),
        );
        let destination = request.destination;
        let accepted = translation::set_method(&outgoing, request.method)
            && outgoing.set_scheme(Some(&Scheme::Https)).is_ok()
            && outgoing.set_authority(Some(destination.origin().authority())).is_ok()
            && outgoing.set_path_with_query(Some(destination.path_with_query())).is_ok();
        if !accepted {
            return Err(FailureClass::Invalid);
        }
        Ok(Self { answer: Some(Box::pin(client::send(outgoing))), upload, transmitted })
    }

    /// The answer, once.
    pub(super) fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<(Event, Option<Response>)> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let Poll::Ready(outcome) = answer.as_mut().poll(cx) else { return Poll::Pending };
        self.answer = None;
        Poll::Ready(match outcome {
            Ok(response) => {
                let headers = translation::lift(&response.get_headers());
                let head = ResponseHead { status: response.get_status_code(), headers };
                (Event::Head(head), Some(response))
            }
            Err(ErrorCode::InternalError(Some(text))) if text == CLIENT_GONE => (Event::ClientFailed, None),
            Err(code) => (Event::Failed(translation::class(&code)), None),
        })
    }

    /// Writes of what is pending as much as the host takes at once.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, pending: &[u8]) -> Poll<Event> {
        loop {
            self.upload = match mem::replace(&mut self.upload, Outlet::Closed) {
                Outlet::Open(stream, completion) => match copy(pending) {
                    Some(chunk) => Outlet::Writing(Box::pin(write(stream, chunk)), completion),
                    None => return Poll::Ready(Event::UploadClosed),
                },
                Outlet::Writing(mut writing, completion) => match writing.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.upload = Outlet::Writing(writing, completion);
                        return Poll::Pending;
                    }
                    Poll::Ready((result, stream)) => {
                        self.upload = Outlet::Open(stream, completion);
                        return Poll::Ready(match result {
                            StreamResult::Complete(count) => Event::Took(count),
                            StreamResult::Cancelled => Event::Took(0),
                            StreamResult::Dropped => Event::UploadClosed,
                        });
                    }
                },
                Outlet::Closed => return Poll::Ready(Event::UploadClosed),
            };
        }
    }

    /// Ends the body, whole.
    pub(super) fn finish(&mut self) -> Event {
        if let Outlet::Open(stream, completion) = mem::replace(&mut self.upload, Outlet::Closed) {
            drop(stream);
            // Only a request that has ended already does not take it.
            spawn_local(async move { drop(completion.write(Ok(None)).await) });
        }
        Event::Finished
    }

    /// To the end of the exchange. What is not uploaded by now never will be.
    pub(super) async fn transmitted(self) {
        let Self { answer, upload, transmitted } = self;
        drop((answer, upload));
        // What there was to say about it, the answer said.
        let _ = transmitted.await;
    }
}

impl Outlet {
    fn open(has_body: bool) -> (Self, Option<StreamReader<u8>>, Completed) {
        if !has_body {
            return (Self::Closed, None, complete());
        }
        let (stream, contents) = wit_stream::new();
        let (completion, completed) = wit_future::new(|| Err(ErrorCode::ConnectionTerminated));
        (Self::Open(stream, completion), Some(contents), completed)
    }
}

/// The end of a body that is complete, and has no trailers (never an empty set of them).
pub(super) fn complete() -> Completed {
    wit_future::new(|| Ok(None)).1
}

/// A chunk for the host, which wants one of its own; none without memory for it.
fn copy(pending: &[u8]) -> Option<Vec<u8>> {
    let pending = pending.get(..WRITE_SIZE).unwrap_or(pending);
    let mut chunk = Vec::new();
    chunk.try_reserve_exact(pending.len()).ok()?;
    chunk.extend_from_slice(pending);
    Some(chunk)
}

async fn write(mut stream: StreamWriter<u8>, chunk: Vec<u8>) -> (StreamResult, StreamWriter<u8>) {
    let (result, _) = stream.write(chunk).await;
    (result, stream)
}
