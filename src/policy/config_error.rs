//! Faults of the configuration: which variable, where in it, which rule (contract 2.4).

use super::document::DocumentRule;
use super::origin::OriginRule;
use std::fmt;

/// One fault of the configuration: the key, the place in its value, and the rule that it broke. Its
/// text is safe to print: it never repeats what the operator wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    key: &'static str,
    /// As in `[2]` or `.routes[3].methods`.
    place: String,
    rule: ConfigRule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigRule {
    Missing,
    NotAnArray,
    Empty,
    Origin(OriginRule),
    Number { default: u32 },
    Switch,
    Document(DocumentRule),
}

impl ConfigError {
    /// A fault of a whole value.
    pub(super) const fn new(key: &'static str, rule: ConfigRule) -> Self {
        Self::at(key, String::new(), rule)
    }

    pub(super) const fn at(key: &'static str, place: String, rule: ConfigRule) -> Self {
        Self { key, place, rule }
    }

    /// The variable.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        self.key
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: ", self.key, self.place)?;
        match &self.rule {
            ConfigRule::Missing => f.write_str("required, a JSON array of https origins"),
            ConfigRule::NotAnArray => f.write_str("must be a JSON array of https origins"),
            ConfigRule::Empty => f.write_str("needs at least one https origin"),
            ConfigRule::Origin(rule) => rule.fmt(f),
            ConfigRule::Number { default } => {
                write!(f, "must be a decimal number of at least 1; the default {default} applies")
            }
            ConfigRule::Switch => f.write_str("must be 1, true, 0, false or empty; it is off"),
            ConfigRule::Document(rule) => rule.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_key_place_and_rule() {
        let error = ConfigError::at("KEY", "[3]".to_owned(), ConfigRule::Origin(OriginRule::Path));
        assert_eq!(error.to_string(), "KEY[3]: an origin has no path");
        let error = ConfigError::new("KEY", ConfigRule::Switch);
        assert_eq!(error.to_string(), "KEY: must be 1, true, 0, false or empty; it is off");
    }
}
