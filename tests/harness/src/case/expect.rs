//! What a case expects: of the answer, of the requests at the origins, of the log.

use std::fmt;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use super::{Body, HeaderField, Text};

/// What the client must get.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status, or the statuses that will do.
    #[serde(default, deserialize_with = "one_or_many_statuses")]
    pub status: Vec<u16>,
    /// Per name that occurs here: exactly these values, in this order.
    #[serde(default)]
    pub headers: Vec<HeaderField>,
    /// All header lines that are not the host's own (framing, `date`, `via`).
    pub exact_headers: Option<Vec<HeaderField>>,
    /// Names that must occur, once, whatever the value.
    #[serde(default)]
    pub present: Vec<String>,
    /// Names that must not occur.
    #[serde(default)]
    pub absent: Vec<String>,
    /// The fill of a turn of that many fields must have come through.
    pub fill_fields: Option<usize>,
    /// The body, byte for byte; where the transfer is broken off, what came is a beginning of it.
    pub body: Option<Body>,
    /// The body as JSON: the same keys and values, in any order of keys.
    pub json: Option<String>,
    /// How the transfer ends.
    #[serde(default)]
    pub ends: Ends,
    /// From the start of the request to the head of the answer.
    #[serde(default)]
    pub head_ms: Within,
    /// From the start of the request to the end of the answer.
    #[serde(default)]
    pub whole_ms: Within,
    /// When parts of the body must have come.
    #[serde(default)]
    pub arrivals: Vec<Arrival>,
    /// The connection closes without an answer.
    #[serde(default)]
    pub refused: bool,
    /// The connection may close without an answer instead.
    #[serde(default)]
    pub or_refused: bool,
    /// The client has left: there is no answer to look at.
    #[serde(default)]
    pub gone: bool,
}

/// How a transfer ends.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// With the end that its framing promises.
    #[default]
    Whole,
    /// Visibly before it.
    Broken,
}

/// Bounds of a duration, both included.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// Not earlier.
    pub min: Option<u64>,
    /// Not later.
    pub max: Option<u64>,
}

/// The byte number `bytes` of the body came within these bounds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// A count of bytes from the beginning of the body.
    pub bytes: u64,
    /// Not earlier.
    pub min: Option<u64>,
    /// Not later.
    pub max: Option<u64>,
}

/// One request that an origin must have seen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The `url` of the origin.
    pub origin: String,
    /// The method.
    pub method: String,
    /// The request target, byte for byte.
    pub target: Text,
    /// Per name that occurs here: exactly these values, in this order.
    #[serde(default)]
    pub headers: Vec<HeaderField>,
    /// All header lines but framing.
    pub exact_headers: Option<Vec<HeaderField>>,
    /// Names that must not occur.
    #[serde(default)]
    pub absent: Vec<String>,
    /// The body; absent: none. Where the request is incomplete, what came is a beginning of it.
    pub body: Option<Body>,
    /// How the body was delimited.
    pub framing: Option<SeenFraming>,
    /// Whether all of the body came.
    #[serde(default)]
    pub complete: Complete,
    /// Whether the balancer dropped the request before its answer was complete.
    pub abandoned: Option<bool>,
}

/// How the body of a request at an origin was delimited.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SeenFraming {
    /// No framing header, no body.
    None,
    /// `content-length`.
    ContentLength,
    /// `transfer-encoding: chunked`, or a body of an h2 stream without a length.
    Chunked,
}

/// Whether all of the body of a request came.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Complete {
    /// All of it.
    #[default]
    Yes,
    /// Not all of it.
    No,
    /// That is left to timing.
    Either,
}

/// What the balancer logs in the whole case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLines {
    /// Exactly these lines, in order. Absent: not looked at; `[]`: none.
    pub lines: Option<Vec<String>>,
    /// Texts that occur in no line of the log and in no answer.
    #[serde(default)]
    pub never: Vec<String>,
}

fn one_or_many_statuses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
    deserializer.deserialize_any(Statuses)
}

struct Statuses;

impl<'de> Visitor<'de> for Statuses {
    type Value = Vec<u16>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status or a list of statuses")
    }

    fn visit_i64<E: de::Error>(self, status: i64) -> Result<Vec<u16>, E> {
        u16::try_from(status).map(|status| vec![status]).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, status: u64) -> Result<Vec<u16>, E> {
        u16::try_from(status).map(|status| vec![status]).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<u16>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}
