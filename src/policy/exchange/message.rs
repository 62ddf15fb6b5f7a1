//! What the exchange and its shell say to each other: one event in, one action out.

use super::super::failure::{Exhausted, FailureClass};
use super::super::headers::Headers;
use super::super::method::Method;
use super::super::origin::Origin;
use super::super::redirect::HopTarget;
use super::super::reply::Reply;
use super::super::routes::Target;
use super::super::time::Millis;
use super::super::upload::UploadStep;

/// What happened, as the shell saw it.
#[derive(Debug)]
pub enum Event {
    /// The request of the last [`Action::Send`] is with the host.
    Opened,
    /// The open request was answered: a whole response head.
    Head(ResponseHead),
    /// The open request failed before a whole response head.
    Failed(FailureClass),
    /// The open request took that many of the pending bytes.
    Took(usize),
    /// The open request takes no more bytes; an answer or a failure will follow.
    UploadClosed,
    /// The open request's body was ended, as [`UploadStep::Finish`] asked.
    Finished,
    /// The client sent bytes of its body.
    Chunk(Vec<u8>),
    /// The client's body is complete.
    ClientEnded,
    /// The client's body broke off.
    ClientFailed,
    /// The deadline of the last [`Wait`] has passed.
    Elapsed,
}

/// What the shell must do next.
#[derive(Debug)]
#[must_use]
pub enum Action<'s> {
    /// Drop the open request, if any; send [`Exchange::request`](super::Exchange::request); report `Opened` or `Failed`.
    Send,
    /// Wait for the open request, the deadline, and what the upload step says.
    Wait(Wait),
    /// Hand the response on. The upload goes on beside it: [`Exchange::waiting`](super::Exchange::waiting) says how.
    Answer(Answer<'s>),
    /// Drop the open request; tell the client that no origin answered.
    Exhausted(Exhausted<'s>, Reply),
    /// Drop the open request; tell the client what it did wrong.
    Refuse(Reply),
}

/// What to wait for besides the open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// What to do about the client's body.
    pub upload: UploadStep,
    /// When to report [`Event::Elapsed`].
    pub until: Millis,
}

/// The head of an origin's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The header section.
    pub headers: Headers,
}

/// An origin's answer, fit for the client.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'s> {
    /// The status code.
    pub status: u16,
    /// The header section, without `x-lb-backend`.
    pub headers: Headers,
    /// The origin that was chosen: the value of `x-lb-backend`. Failing to add that field must
    /// never cost the answer.
    pub backend: &'s Origin,
    /// Whether there is a body to stream (RFC 9112 section 6.3: none after 204 and 304, and none in
    /// answer to HEAD).
    pub has_body: bool,
}

/// The name of the one field that the balancer adds to answers.
pub const BACKEND_FIELD: &str = "x-lb-backend";

/// The request that [`Action::Send`] is about.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its method.
    pub method: Method,
    /// Where it goes.
    pub destination: Destination<'a>,
    /// Its header section; the host adds `host` alone.
    pub headers: &'a Headers,
    /// Whether it carries the client's body.
    pub body: bool,
    /// How long its origin may be silent between two chunks of the answer's body.
    pub silence: Millis,
}

/// Where a request goes: the first of an attempt to where a route leads, a hop to where the redirect
/// rule allows.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// The first request of an attempt.
    Routed(&'a Origin, &'a Target),
    /// A redirect hop.
    Hop(&'a HopTarget),
}

impl<'a> Destination<'a> {
    /// The origin.
    #[must_use]
    pub const fn origin(self) -> &'a Origin {
        match self {
            Self::Routed(origin, _) => origin,
            Self::Hop(target) => target.origin(),
        }
    }

    /// The request target in origin form.
    #[must_use]
    pub fn path_with_query(self) -> &'a str {
        match self {
            Self::Routed(_, target) => target.path_with_query(),
            Self::Hop(target) => target.path_with_query(),
        }
    }
}
