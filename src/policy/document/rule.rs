//! The rules of a policy document, each with its text.

use super::{MAX_LIMITS, MAX_ROUTES, MAX_TEXT};
use crate::policy::fence::FenceRule;
use crate::policy::method::Method;
use crate::policy::safelist::HEALTH_PATH;
use std::fmt;

/// The rule that a policy document broke. It never holds the operator's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentRule {
    /// No JSON.
    NotJson {
        /// Where it stops being JSON.
        line: usize,
        /// Where in that line.
        column: usize,
    },
    /// Too many bytes.
    TooLong,
    /// Something else where an object belongs.
    NotAnObject,
    /// Something else where a string belongs.
    NotAString,
    /// A key that must be there is not.
    Missing,
    /// A key that nobody knows.
    UnknownKey {
        /// Which of the object's keys it is, from 0.
        index: usize,
        /// Those that are known.
        known: &'static [&'static str],
    },
    /// A key or a name that is there already.
    Repeated,
    /// Another version.
    Version,
    /// No whole number in that range.
    Number {
        /// The largest.
        most: u32,
    },
    /// No array, an empty one, or too many routes.
    Routes,
    /// A route with neither or both of path and prefix.
    Matcher,
    /// A path or a prefix that the fence would never let through.
    Fence(FenceRule),
    /// A prefix that does not start or end with a slash.
    Prefix,
    /// The balancer's own endpoint.
    OwnEndpoint,
    /// The same path or prefix in two routes.
    SamePath {
        /// The place of the first.
        first: usize,
    },
    /// No array of methods, or an empty one.
    Methods,
    /// A method that no route can have.
    UnknownMethod {
        /// Which entry it is.
        index: usize,
    },
    /// A method that is in the list already.
    SameMethod(Method),
    /// No limit has that name.
    UnknownLimit,
    /// Too many limits.
    Limits,
    /// A limit's name that cannot be told.
    LimitName,
    /// Another `key` of a limit.
    LimitKey,
    /// Another shape of `client_address`.
    ClientAddress,
    /// No name of a field, or one that not every host shows: `host` and what is hop-by-hop.
    FieldName,
    /// An empty or overlong `code`.
    Code,
}

impl fmt::Display for DocumentRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { line, column } => write!(f, "no JSON from line {line}, column {column} on"),
            Self::TooLong => write!(f, "must be at most {MAX_TEXT} bytes long"),
            Self::UnknownKey { index, known } => {
                write!(f, "key {} is unknown; known are {}", index + 1, known.join(", "))
            }
            Self::Number { most } => write!(f, "must be a whole number from 1 to {most}"),
            Self::Routes => write!(f, "must be an array of 1 to {MAX_ROUTES} routes"),
            Self::Fence(rule) => rule.fmt(f),
            Self::OwnEndpoint => write!(f, "{HEALTH_PATH} is the balancer's own endpoint"),
            Self::SamePath { first } => {
                write!(f, "the same as in routes[{first}]; one route names all methods of a path")
            }
            Self::UnknownMethod { index } => {
                write!(f, "entry {index} is none of {}", Method::ALL.map(Method::as_str).join(", "))
            }
            Self::SameMethod(method) => write!(f, "names {method} twice"),
            Self::Limits => write!(f, "must be at most {MAX_LIMITS} limits"),
            plain => f.write_str(plain.text()),
        }
    }
}

impl DocumentRule {
    const fn text(&self) -> &'static str {
        match self {
            Self::NotAnObject => "must be an object",
            Self::NotAString => "must be a string",
            Self::Missing => "required",
            Self::Repeated => "occurs twice",
            Self::Version => "must be 1",
            Self::Matcher => "needs either a path or a prefix",
            Self::Prefix => "a prefix starts and ends with /",
            Self::Methods => "must be an array of at least one method",
            Self::UnknownLimit => "names no entry of limits",
            Self::LimitName => "a name has 1 to 64 letters, digits, hyphens and underscores",
            Self::LimitKey => "must be \"ip\", \"user\" or \"both\"",
            Self::ClientAddress => "must be {\"header\": NAME} or {\"forwarded_for_hops\": NUMBER}",
            Self::FieldName => "must name a field, neither host nor hop-by-hop",
            Self::Code => "must have 1 to 64 characters",
            _ => "",
        }
    }
}
