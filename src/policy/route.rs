//! A route: a path or a prefix, its methods, its bounds, its limit.

use super::fence::meaning;
use super::method::Methods;
use super::time::Millis;
use std::borrow::Cow;
use std::num::NonZeroU32;

/// One row of the routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// What a path must be, or start with.
    pub matcher: Matcher,
    /// Its methods.
    pub methods: Methods,
    /// How long, how often.
    pub bounds: Bounds,
    /// The place of its limit in the policy's list.
    pub limit: Option<usize>,
}

/// Which paths a route takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// This path, byte for byte; what is forwarded is this text.
    Exact(Cow<'static, str>),
    /// Every path that starts with this text, which ends with `/`, and passes the fence; what is
    /// forwarded is the path as received.
    Prefix(Cow<'static, str>),
}

impl Matcher {
    /// The same kind of what the text means (see [`Fenced::meaning`](super::fence::Fenced::meaning)).
    pub(super) fn meant(&self) -> Self {
        match self {
            Self::Exact(path) => Self::Exact(meaning(path).into_owned().into()),
            Self::Prefix(prefix) => Self::Prefix(meaning(prefix).into_owned().into()),
        }
    }

    /// The path or the prefix.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Prefix(text) => text,
        }
    }
}

/// What bounds a request: how long an attempt takes, and how many there are (contract 2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The clock of each attempt.
    pub timeout: Timeout,
    /// The most attempts.
    pub attempts: Attempts,
}

impl Bounds {
    /// `LB_MAX_ATTEMPTS` attempts of `LB_REQUEST_TIMEOUT_MS` each.
    pub const ORDINARY: Self = Self { timeout: Timeout::Request, attempts: Attempts::Configured };
}

/// The clock of an attempt: the route's own, or that of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// The route's own.
    Own(Millis),
    /// `LB_REQUEST_TIMEOUT_MS`
    Request,
    /// `LB_RECONCILE_TIMEOUT_MS`
    Reconcile,
    /// `LB_WORKER_TIMEOUT_MS`
    Worker,
}

/// The most attempts: the route's own number, or that of the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts {
    /// The route's own.
    Own(NonZeroU32),
    /// `LB_MAX_ATTEMPTS`
    Configured,
}
