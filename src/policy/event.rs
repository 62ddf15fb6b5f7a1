//! What the balancer logs (contract 2.9): one line per failed attempt and per exhausted request.
//!
//! An event holds a method, a path without its query, an origin and a failure, and no type here
//! could hold a query, a header or a body: a log line can't leak what it can't hold.

use super::config_error::ConfigError;
use super::failure::{Exhausted, Failure};
use super::method::Method;
use super::origin::Origin;
use super::routes::Target;
use std::fmt;

pub(super) const ATTEMPT_FAILED: &str = "attempt failed: ";
pub(super) const REQUEST_EXHAUSTED: &str = "all backends failed: ";

/// One line of the log.
#[derive(Debug)]
pub enum Event<'a> {
    /// An attempt brought no answer.
    AttemptFailed(Attempt<'a>),
    /// No attempt brought an answer; the client gets the `503`.
    RequestExhausted(Attempt<'a>),
    /// The environment says that nothing is limited.
    LimitsOff,
    /// A fault of the configuration.
    Misconfigured(&'a ConfigError),
}

/// The four fields of an attempt.
#[derive(Debug)]
pub struct Attempt<'a> {
    method: Method,
    path: &'a str,
    origin: &'a Origin,
    failure: Failure,
}

impl<'a> Attempt<'a> {
    /// Describes a failed attempt.
    #[must_use]
    pub fn new(target: &'a Target, exhausted: &Exhausted<'a>) -> Self {
        Self {
            method: target.method(),
            path: target.path(),
            origin: exhausted.origin,
            failure: exhausted.failure,
        }
    }
}

impl Event<'_> {
    /// Hands the line to the log of the host.
    pub fn emit(&self) {
        match self {
            Self::AttemptFailed(_) | Self::LimitsOff => log::warn!("{self}"),
            Self::RequestExhausted(_) | Self::Misconfigured(_) => log::error!("{self}"),
        }
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttemptFailed(attempt) => write!(f, "{ATTEMPT_FAILED}{attempt}"),
            Self::RequestExhausted(attempt) => write!(f, "{REQUEST_EXHAUSTED}{attempt}"),
            Self::LimitsOff => f.write_str("rate limits are off: LB_ENV is dev"),
            Self::Misconfigured(error) => write!(f, "misconfigured: {error}"),
        }
    }
}

impl fmt::Display for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.method, self.path, self.origin, self.failure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::FailureClass;
    use super::*;

    #[test]
    fn a_line_has_method_path_origin_and_failure() {
        let origin = &Origin::parse("https://a.example").unwrap();
        let target = Target::health_probe();
        let line =
            |failure| Event::AttemptFailed(Attempt::new(&target, &Exhausted { origin, failure })).to_string();
        assert_eq!(
            line(Failure::Class(FailureClass::Timeout)),
            "attempt failed: GET /healthz https://a.example timeout"
        );
        assert_eq!(line(Failure::Status(503)), "attempt failed: GET /healthz https://a.example HTTP 503");
    }
}
