//! The policy document, `LB_POLICY_JSON`: routes and limits as an operator writes them.
//!
//! Reading goes on behind a fault, so that all faults are told at once; one is enough to leave the
//! whole document unused, so that no request is forwarded by half a policy.

mod limits;
mod reader;
mod route_rows;
mod rule;

pub use rule::DocumentRule;

use super::config_error::ConfigError;
use super::json::{Json, NotJson};
use super::limit::rule::{DEFAULT_MAX_ENTRIES, Limit, MOST_MAX_ENTRIES};
use super::routes::Routes;
use super::safelist::SAFELIST;
use reader::{Faults, Place};
use std::num::NonZeroU32;

/// The longest document, in bytes.
pub const MAX_TEXT: usize = 1024 * 1024;
/// The most routes.
pub const MAX_ROUTES: usize = 4096;
/// The most limits.
pub const MAX_LIMITS: usize = 256;

/// Which requests are forwarded, for how long, and how many of them: the built-in policy, or an
/// operator's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The routes.
    pub routes: Routes,
    /// The limits, to which routes refer by their place.
    pub limits: Vec<Limit>,
    /// `max_entries`: how many buckets an instance keeps.
    pub max_entries: NonZeroU32,
}

impl Policy {
    /// MessageWeave's safelist, without limits.
    #[must_use]
    pub const fn built_in() -> Self {
        Self { routes: Routes::of_sorted(&SAFELIST), limits: Vec::new(), max_entries: DEFAULT_MAX_ENTRIES }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Everything that is wrong with it, from top to bottom.
    pub fn read(text: &str) -> Result<Self, Vec<ConfigError>> {
        let mut faults = Faults::default();
        let policy = read(text, &mut faults);
        match (policy, faults.into_errors()) {
            (Some(policy), errors) if errors.is_empty() => Ok(policy),
            (_, errors) => Err(errors),
        }
    }
}

fn read(text: &str, faults: &mut Faults) -> Option<Policy> {
    let top = Place::Top;
    if text.len() > MAX_TEXT {
        return faults.add(top, DocumentRule::TooLong);
    }
    let json = match Json::parse(text) {
        Ok(json) => json,
        Err(NotJson { line, column }) => return faults.add(top, DocumentRule::NotJson { line, column }),
    };
    let fields = faults.object(&json, top, &["version", "routes", "limits", "max_entries"])?;
    if let Some(version) = faults.required(fields, top, "version")
        && *version != Json::Whole(1)
    {
        faults.note(top.key("version"), DocumentRule::Version);
    }
    let limits = match fields.get("limits") {
        Some(limits) => limits::read(limits, top.key("limits"), faults),
        None => Some(Vec::new()),
    };
    let rows = faults.required(fields, top, "routes").map(|rows| {
        let names: Option<Vec<_>> =
            limits.as_ref().map(|limits| limits.iter().map(|limit| limit.name.as_str()).collect());
        route_rows::read(rows, top.key("routes"), names.as_deref(), faults)
    });
    let max_entries = match fields.get("max_entries") {
        Some(count) => faults.number(count, top.key("max_entries"), MOST_MAX_ENTRIES)?,
        None => DEFAULT_MAX_ENTRIES,
    };
    Some(Policy { routes: Routes::new(rows?), limits: limits?, max_entries })
}
