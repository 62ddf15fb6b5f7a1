//! Faults of the configuration: which variable, which entry, which rule (contract 2.4).

use super::origin::OriginRule;
use std::fmt;

/// One fault of the configuration: the key, the entry, and the rule that it broke. Its text is safe
/// to print: it never repeats what the operator wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    key: &'static str,
    index: Option<usize>,
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
}

impl ConfigError {
    pub(super) const fn new(key: &'static str, index: Option<usize>, rule: ConfigRule) -> Self {
        Self { key, index, rule }
    }

    /// The variable.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        self.key
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        f.write_str(": ")?;
        match &self.rule {
            ConfigRule::Missing => f.write_str("required, a JSON array of https origins"),
            ConfigRule::NotAnArray => f.write_str("must be a JSON array of https origins"),
            ConfigRule::Empty => f.write_str("needs at least one https origin"),
            ConfigRule::Origin(rule) => rule.fmt(f),
            ConfigRule::Number { default } => {
                write!(f, "must be a decimal number of at least 1; the default {default} applies")
            }
            ConfigRule::Switch => f.write_str("must be 1, true, 0, false or empty; it is off"),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_key_entry_and_rule() {
        let error = ConfigError::new("KEY", Some(3), ConfigRule::Origin(OriginRule::Path));
        assert_eq!(error.to_string(), "KEY[3]: an origin has no path");
        let error = ConfigError::new("KEY", None, ConfigRule::Switch);
        assert_eq!(error.to_string(), "KEY: must be 1, true, 0, false or empty; it is off");
    }
}
