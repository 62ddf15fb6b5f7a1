//! JSON as the configuration needs it (RFC 8259): objects keep their keys in order and twice where
//! they occur twice, and of numbers only whole ones count.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A value. What no setting takes is [`Other`](Self::Other).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// An object.
    Object(Vec<(String, Self)>),
    /// An array.
    Array(Vec<Self>),
    /// A string.
    String(String),
    /// A number without a fraction that is not negative, however it is spelt.
    Whole(u64),
    /// `null`, a boolean, another number.
    Other,
}

/// Where a text stops being JSON. It never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 0 or 1.
    pub column: usize,
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// Where it is no JSON, or nested deeper than 127 times.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        serde_json::from_str(text).map_err(|error| NotJson { line: error.line(), column: error.column() })
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(entries) => Some(entries),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Whole(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        // Up to here every whole number is exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let is_whole = (0.0..EXACT).contains(&number) && number.fract() == 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "judged right here")]
        Ok(if is_whole { Json::Whole(number as u64) } else { Json::Other })
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut read = Vec::new();
        while let Some(entry) = entries.next_element()? {
            read.push(entry);
        }
        Ok(Json::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut read = Vec::new();
        while let Some(field) = fields.next_entry()? {
            read.push(field);
        }
        Ok(Json::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_count_however_they_are_spelt() {
        for (text, number) in [("0", 0), ("7", 7), ("1e3", 1000), ("2.0", 2), ("2147483648", 2_147_483_648)] {
            assert_eq!(Json::parse(text), Ok(Json::Whole(number)), "{text}");
        }
        for text in ["-1", "1.5", "1e-1", "1e300", "true", "null"] {
            assert_eq!(Json::parse(text), Ok(Json::Other), "{text}");
        }
    }

    #[test]
    fn an_object_keeps_a_key_as_often_as_it_occurs() {
        let twice = vec![("a".to_owned(), Json::Whole(1)), ("a".to_owned(), Json::Array(vec![]))];
        assert_eq!(Json::parse(r#"{"a":1,"\u0061":[]}"#), Ok(Json::Object(twice)));
    }

    #[test]
    fn what_is_no_json_is_told_by_its_place() {
        assert_eq!(Json::parse("[\n  1 2]"), Err(NotJson { line: 2, column: 5 }));
        for text in ["", "{", "[1,]", "{} {}", "'a'", "01", "\"\\x\"", "// a\n{}"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }
}
