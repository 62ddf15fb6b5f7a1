//! What happened when a case was run, the same for every driver: what the client got, what the
//! origins saw, what was logged.

mod bytes;

pub use bytes::Content;

use crate::case::SeenFraming;

/// A header line as it came over the wire.
pub type Line = (String, Vec<u8>);

/// Everything that one run of a case left behind.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What the client got, step by step.
    pub outcomes: Vec<Outcome>,
    /// What the origins saw, one list per group of steps (a step and those sent with it).
    pub upstream: Vec<Vec<Recorded>>,
    /// What the origins complained of, one list per group: no case may contain any.
    pub complaints: Vec<Vec<String>>,
    /// The turns of the origins that were not used.
    pub unused: Vec<String>,
    /// What no exception excuses: a host that died, an origin that panicked.
    pub crashes: Vec<String>,
    /// The lines of the policy's log.
    pub log: Vec<String>,
    /// Everything else that the host printed.
    pub noise: String,
}

/// What the client got for one request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An answer, whole or broken.
    Answer(Received),
    /// The connection closed before an answer began.
    Refused(String),
    /// The client left.
    Gone,
    /// Neither, within the bound of the driver.
    Hung,
    /// The driver cannot send such a request.
    Unplayable(String),
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The status.
    pub status: u16,
    /// The header lines, names in lower case.
    pub headers: Vec<Line>,
    /// The body.
    pub body: Content,
    /// How many bytes of the body there were, and when (in ms from the start of the request).
    pub arrivals: Vec<(u64, u64)>,
    /// Why the transfer broke off; absent: it is whole.
    pub broken: Option<String>,
    /// From the start of the request to the head.
    pub head_ms: u64,
    /// From the start of the request to the end.
    pub whole_ms: u64,
}

/// A request as an origin saw it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The `url` of the origin.
    pub origin: String,
    /// The method.
    pub method: String,
    /// The target.
    pub target: Vec<u8>,
    /// The header lines, names in lower case; `:authority` of h2 as `host`.
    pub headers: Vec<Line>,
    /// How the body was delimited.
    pub framing: SeenFraming,
    /// The body, as far as it came.
    pub body: Content,
    /// What became of the body.
    pub progress: Progress,
    /// The balancer dropped the request before its answer was complete.
    pub abandoned: bool,
}

/// What became of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More may come.
    Open,
    /// All of it came.
    Complete,
    /// The rest will never come.
    Broken,
}
