//! What the client of a case sends.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Body, HeaderField, Protocol, Text};

/// One request of the client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Over TLS or in the clear.
    #[serde(default)]
    pub over: Over,
    /// HTTP/1.1 or h2.
    #[serde(default)]
    pub version: Protocol,
    /// The method as sent.
    #[serde(default = "get")]
    pub method: String,
    /// The request target as sent, absolute form included.
    #[serde(default)]
    pub target: String,
    /// The values of the Host lines (h2: `:authority`), one line each.
    #[serde(default = "lb_example", deserialize_with = "one_or_many")]
    pub host: Vec<Text>,
    /// All other header lines, in order.
    #[serde(default)]
    pub headers: Vec<HeaderField>,
    /// So many more header lines, `x-fill-<n>: v`.
    #[serde(default)]
    pub fill_fields: usize,
    /// One more header line, `x-fill`, of so many bytes.
    #[serde(default)]
    pub fill_bytes: usize,
    /// The body; absent: no body and no framing header.
    pub body: Option<Body>,
    /// How the body is delimited.
    #[serde(default)]
    pub framing: RequestFraming,
    /// The content-length that is declared, where it is not that of the body.
    pub length: Option<u64>,
    /// The whole request byte for byte, in place of everything above but `over`.
    pub raw: Option<Body>,
}

/// The transport towards the balancer.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// TLS.
    #[default]
    Https,
    /// Plain TCP.
    Http,
}

/// How the body of a request is delimited.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RequestFraming {
    /// `content-length`.
    #[default]
    ContentLength,
    /// `transfer-encoding: chunked`, one chunk per piece (h2: no content-length).
    Chunked,
}

fn get() -> String {
    "GET".to_owned()
}

fn lb_example() -> Vec<Text> {
    vec![Text::from("lb.example")]
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Text>, D::Error> {
    deserializer.deserialize_any(OneOrMany)
}

struct OneOrMany;

impl<'de> Visitor<'de> for OneOrMany {
    type Value = Vec<Text>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<Text>, E> {
        Ok(vec![Text::from(text)])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Text>, A::Error> {
        Text::deserialize(MapAccessDeserializer::new(map)).map(|text| vec![text])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<Text>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}
