//! Reading a JSON tree and noting down what is wrong with it, and where.

use super::DocumentRule;
use crate::policy::config_error::{ConfigError, ConfigRule};
use crate::policy::json::Json;
use crate::policy::settings::LB_POLICY_JSON;
use std::fmt;
use std::num::NonZeroU32;

/// A place in the document. It is made of keys that the document's rules know and of counts.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Top,
    Key(&'p Place<'p>, &'p str),
    Entry(&'p Place<'p>, usize),
}

impl<'p> Place<'p> {
    pub(super) const fn key(&'p self, key: &'p str) -> Self {
        Self::Key(self, key)
    }

    pub(super) const fn entry(&'p self, index: usize) -> Self {
        Self::Entry(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Entry(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// What is wrong so far.
#[derive(Default)]
pub(super) struct Faults(Vec<ConfigError>);

/// An object whose keys are all known, or noted down as not.
#[derive(Clone, Copy)]
pub(super) struct Fields<'j>(&'j [(String, Json)]);

impl<'j> Fields<'j> {
    pub(super) fn get(self, key: &str) -> Option<&'j Json> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl Faults {
    pub(super) fn into_errors(self) -> Vec<ConfigError> {
        self.0
    }

    /// Notes a fault down.
    pub(super) fn note(&mut self, place: Place<'_>, rule: DocumentRule) {
        self.0.push(ConfigError::at(LB_POLICY_JSON, place.to_string(), ConfigRule::Document(rule)));
    }

    /// Notes a fault down; there is no value then.
    pub(super) fn add<T>(&mut self, place: Place<'_>, rule: DocumentRule) -> Option<T> {
        self.note(place, rule);
        None
    }

    /// An object with these keys at most, each at most once.
    pub(super) fn object<'j>(
        &mut self,
        json: &'j Json,
        place: Place<'_>,
        known: &'static [&'static str],
    ) -> Option<Fields<'j>> {
        let Json::Object(fields) = json else {
            return self.add(place, DocumentRule::NotAnObject);
        };
        let mut seen = vec![false; known.len()];
        for (index, (key, _)) in fields.iter().enumerate() {
            match known.iter().zip(&mut seen).find(|(name, _)| *name == key) {
                None => self.note(place, DocumentRule::UnknownKey { index, known }),
                Some((name, true)) => self.note(place.key(name), DocumentRule::Repeated),
                Some((_, seen)) => *seen = true,
            }
        }
        Some(Fields(fields))
    }

    /// The value of a key that must be there.
    pub(super) fn required<'j>(
        &mut self,
        fields: Fields<'j>,
        place: Place<'_>,
        key: &'static str,
    ) -> Option<&'j Json> {
        fields.get(key).or_else(|| self.add(place.key(key), DocumentRule::Missing))
    }

    /// A whole number from 1 on.
    pub(super) fn number(&mut self, json: &Json, place: Place<'_>, most: u32) -> Option<NonZeroU32> {
        let number = match json {
            Json::Whole(number) => u32::try_from(*number).ok().filter(|number| *number <= most),
            _ => None,
        };
        number.and_then(NonZeroU32::new).or_else(|| self.add(place, DocumentRule::Number { most }))
    }

    /// A string.
    pub(super) fn text<'j>(&mut self, json: &'j Json, place: Place<'_>) -> Option<&'j str> {
        json.as_str().or_else(|| self.add(place, DocumentRule::NotAString))
    }
}
