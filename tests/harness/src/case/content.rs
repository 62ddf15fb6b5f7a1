//! Bytes in a case: header values that need not be UTF-8, and bodies as scripts of pieces.

use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

/// A text, or bytes that are none: `"text"` or `{ bytes = [0xff, 0x00] }`.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

/// One header line: `["name", "value"]` or `["name", { bytes = [0xff] }]`.
pub type HeaderField = (String, Text);

/// A body: a text, or a list of pieces that are sent one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body(pub Vec<Piece>);

/// One piece of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes, as one chunk.
    Bytes(Vec<u8>),
    /// `text` over and over until `bytes` bytes are out.
    Repeat {
        /// What is repeated; the last repetition may be cut.
        text: Vec<u8>,
        /// How many bytes there are in all.
        bytes: u64,
    },
    /// Nothing for that long.
    Pause(u64),
    /// The body stops here, unfinished.
    End(Ending),
}

/// How an unfinished body stops.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Nothing more is sent, the connection stays.
    Stall,
    /// The connection is closed (FIN; over TLS with close_notify, in h2 the stream is reset).
    Close,
    /// The connection is reset (RST; in h2 the stream is reset).
    Reset,
}

impl Body {
    /// The number of bytes that the body sends, whether or not it is finished.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(Piece::len).sum()
    }

    /// Whether the body sends no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the body stops short, if it does.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.0.iter().find_map(|piece| match piece {
            Piece::End(ending) => Some(*ending),
            _ => None,
        })
    }
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Repeat { bytes, .. } => *bytes,
            Self::Pause(_) | Self::End(_) => 0,
        }
    }

    /// The bytes of the piece in runs of at most `most` bytes.
    pub fn runs(&self, most: usize) -> impl Iterator<Item = Vec<u8>> + Send + '_ {
        let (text, total): (&[u8], u64) = match self {
            Self::Bytes(bytes) => (bytes, bytes.len() as u64),
            Self::Repeat { text, bytes } => (text, *bytes),
            Self::Pause(_) | Self::End(_) => (&[], 0),
        };
        // One block holds every run of a repeated text, whatever its phase.
        let size = (most as u64).min(total) as usize;
        let block: Vec<u8> = text.iter().copied().cycle().take(size + text.len()).collect();
        let mut sent = 0;
        std::iter::from_fn(move || {
            let run = (total - sent).min(size as u64) as usize;
            let phase = (sent % text.len().max(1) as u64) as usize;
            sent += run as u64;
            block.get(phase..phase + run).filter(|run| !run.is_empty()).map(<[u8]>::to_vec)
        })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawText {
    bytes: Vec<u8>,
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or { bytes = [..] }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
        RawText::deserialize(MapAccessDeserializer::new(map)).map(|raw| Text(raw.bytes))
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of pieces")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Body, E> {
        Ok(Body(vec![Piece::Bytes(text.as_bytes().to_vec())]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Body, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Body)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPiece {
    text: Option<String>,
    raw: Option<Vec<u8>>,
    repeat: Option<String>,
    bytes: Option<u64>,
    pause_ms: Option<u64>,
    end: Option<Ending>,
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PieceVisitor)
    }
}

struct PieceVisitor;

impl<'de> Visitor<'de> for PieceVisitor {
    type Value = Piece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, { raw }, { repeat, bytes }, { pause_ms } or { end }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Piece, E> {
        Ok(Piece::Bytes(text.as_bytes().to_vec()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Piece, A::Error> {
        match RawPiece::deserialize(MapAccessDeserializer::new(map))? {
            RawPiece {
                text: Some(text),
                raw: None,
                repeat: None,
                bytes: None,
                pause_ms: None,
                end: None,
            } => Ok(Piece::Bytes(text.into_bytes())),
            RawPiece { text: None, raw: Some(raw), repeat: None, bytes: None, pause_ms: None, end: None } => {
                Ok(Piece::Bytes(raw))
            }
            RawPiece {
                text: None,
                raw: None,
                repeat: Some(text),
                bytes: Some(bytes),
                pause_ms: None,
                end: None,
            } if !text.is_empty() => Ok(Piece::Repeat { text: text.into_bytes(), bytes }),
            RawPiece {
                text: None,
                raw: None,
                repeat: None,
                bytes: None,
                pause_ms: Some(pause),
                end: None,
            } => Ok(Piece::Pause(pause)),
            RawPiece { text: None, raw: None, repeat: None, bytes: None, pause_ms: None, end: Some(end) } => {
                Ok(Piece::End(end))
            }
            _ => Err(de::Error::custom(
                "a piece is exactly one of \"text\", { text }, { raw }, { repeat, bytes }, { pause_ms }, { end }",
            )),
        }
    }
}
