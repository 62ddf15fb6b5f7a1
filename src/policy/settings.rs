//! The configuration: the documented environment variables and what they mean (contract 2.4).
//!
//! Reading never fails. A bad number takes its default, bad origins leave the balancer
//! misconfigured (`503` on what it would forward), and every fault is kept for `check` and the log
//! by its key and the rule that it broke, never by its text.

use super::config_error::{ConfigError, ConfigRule};
use super::document::Policy;
use super::event::Event;
use super::json::Json;
use super::limit::rule::{DEFAULT_MAX_ENTRIES, Limit};
use super::number;
use super::origin::{Origin, OriginRule};
use super::route::{Attempts, Bounds, Timeout};
use super::routes::Target;
use super::time::Millis;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::num::NonZeroU32;

/// The JSON array of origins.
pub const BACKEND_ORIGINS_JSON: &str = "BACKEND_ORIGINS_JSON";
const LB_REQUEST_TIMEOUT_MS: &str = "LB_REQUEST_TIMEOUT_MS";
const LB_MAX_ATTEMPTS: &str = "LB_MAX_ATTEMPTS";
const LB_RECONCILE_TIMEOUT_MS: &str = "LB_RECONCILE_TIMEOUT_MS";
const LB_WORKER_TIMEOUT_MS: &str = "LB_WORKER_TIMEOUT_MS";
const LB_HEALTH_TTL_MS: &str = "LB_HEALTH_TTL_MS";
const LB_VERSION: &str = "LB_VERSION";
const LB_TRUST_FORWARDED_PROTO: &str = "LB_TRUST_FORWARDED_PROTO";
const LB_REPLAY_MAX_BYTES: &str = "LB_REPLAY_MAX_BYTES";
/// The policy document.
pub const LB_POLICY_JSON: &str = "LB_POLICY_JSON";
const LB_ENV: &str = "LB_ENV";

/// Every variable that the policy reads; no host passes it another.
pub const VARIABLES: &[&str] = &[
    BACKEND_ORIGINS_JSON,
    LB_REQUEST_TIMEOUT_MS,
    LB_MAX_ATTEMPTS,
    LB_RECONCILE_TIMEOUT_MS,
    LB_WORKER_TIMEOUT_MS,
    LB_HEALTH_TTL_MS,
    LB_VERSION,
    LB_TRUST_FORWARDED_PROTO,
    LB_REPLAY_MAX_BYTES,
    LB_POLICY_JSON,
    LB_ENV,
];

/// What shapes more than answers: a host that renders routes, clocks and attempts renders them from these,
/// and from the origins, which are compared by themselves.
const RENDERED_FROM: [&str; 8] = [
    LB_REQUEST_TIMEOUT_MS,
    LB_MAX_ATTEMPTS,
    LB_RECONCILE_TIMEOUT_MS,
    LB_WORKER_TIMEOUT_MS,
    LB_TRUST_FORWARDED_PROTO,
    LB_REPLAY_MAX_BYTES,
    LB_POLICY_JSON,
    LB_ENV,
];

/// Tells whether what was rendered is still what the variables say: it is the same for the same texts.
#[must_use]
pub fn fingerprint(mut var: impl FnMut(&str) -> Option<String>) -> u64 {
    digest(RENDERED_FROM.iter().map(|name| var(name).unwrap_or_default().trim().to_owned()))
}

/// Stands for texts in their order.
#[must_use]
pub fn digest(texts: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
    let mut hash = SipHasher13::new();
    for text in texts {
        hash.write(text.as_ref().as_bytes());
        // No text holds it.
        hash.write(&[0xff]);
    }
    hash.finish()
}

/// The effective configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The backends, or why there are none.
    pub backends: Backends,
    /// `LB_REQUEST_TIMEOUT_MS`: per attempt, per health probe, and how long a client may be silent
    /// in the middle of its body.
    pub request_timeout: Millis,
    /// `LB_MAX_ATTEMPTS`: attempts per request.
    pub max_attempts: u32,
    /// `LB_RECONCILE_TIMEOUT_MS`: the single attempt of `POST /reconcile`.
    pub reconcile_timeout: Millis,
    /// `LB_WORKER_TIMEOUT_MS`: the single attempt of `POST /worker`.
    pub worker_timeout: Millis,
    /// `LB_HEALTH_TTL_MS`: how long a health probe's result is served again.
    pub health_ttl: Millis,
    /// `LB_VERSION`, reported by `/healthz-worker`.
    pub version: String,
    /// `LB_TRUST_FORWARDED_PROTO`: a TLS terminator stands in front.
    pub trust_forwarded_proto: bool,
    /// `LB_REPLAY_MAX_BYTES`: the cap of the replay copy, in bytes.
    pub replay_max_bytes: usize,
    /// `LB_POLICY_JSON`, or what is built in; nothing where it is set, but bad.
    pub policy: Option<Policy>,
    /// `LB_ENV` is `dev`: nothing is limited, so that a developer's own polling locks nobody out. Any
    /// other value leaves the limits on.
    pub limits_off: bool,
    errors: Vec<ConfigError>,
}

/// The origins, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backends {
    /// At least one origin, in the operator's order, without duplicates.
    Origins(Vec<Origin>),
    /// The variable is unset, blank or an empty list.
    Unset,
    /// The variable is set, but bad.
    Misconfigured,
}

impl Settings {
    /// Reads the variables by name.
    #[must_use]
    pub fn from_vars(mut var: impl FnMut(&str) -> Option<String>) -> Self {
        let mut errors = Vec::new();
        let backends = read_backends(var(BACKEND_ORIGINS_JSON).as_deref(), &mut errors);
        let mut number = |key, default| read_number(key, var(key), default, &mut errors);
        let request_timeout = number(LB_REQUEST_TIMEOUT_MS, 10_000);
        let max_attempts = number(LB_MAX_ATTEMPTS, 2);
        let reconcile_timeout = number(LB_RECONCILE_TIMEOUT_MS, 320_000);
        let worker_timeout = number(LB_WORKER_TIMEOUT_MS, 300_000);
        let health_ttl = number(LB_HEALTH_TTL_MS, 30_000);
        let version = var(LB_VERSION).filter(|version| !version.is_empty());
        let trust = read_switch(LB_TRUST_FORWARDED_PROTO, var(LB_TRUST_FORWARDED_PROTO), &mut errors);
        let replay_max_bytes = var(LB_REPLAY_MAX_BYTES);
        let replay_max_bytes = read_number(LB_REPLAY_MAX_BYTES, replay_max_bytes, 1_048_576, &mut errors);
        let policy = read_policy(var(LB_POLICY_JSON).as_deref(), &mut errors);
        Self {
            backends,
            request_timeout: Millis(request_timeout.into()),
            max_attempts,
            reconcile_timeout: Millis(reconcile_timeout.into()),
            worker_timeout: Millis(worker_timeout.into()),
            health_ttl: Millis(health_ttl.into()),
            version: version.unwrap_or_else(|| "unknown".to_owned()),
            trust_forwarded_proto: trust,
            replay_max_bytes: usize::try_from(replay_max_bytes).unwrap_or(usize::MAX),
            policy,
            limits_off: var(LB_ENV).as_deref() == Some("dev"),
            errors,
        }
    }

    /// The origins; none when they are not set or bad.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        match &self.backends {
            Backends::Origins(origins) => origins,
            Backends::Unset | Backends::Misconfigured => &[],
        }
    }

    /// The clock of one attempt.
    #[must_use]
    pub const fn timeout(&self, bounds: Bounds) -> Millis {
        match bounds.timeout {
            Timeout::Own(timeout) => timeout,
            Timeout::Request => self.request_timeout,
            Timeout::Reconcile => self.reconcile_timeout,
            Timeout::Worker => self.worker_timeout,
        }
    }

    /// `max(1, min(the route's limit, number of origins))` of contract 2.6.
    #[must_use]
    pub fn attempts(&self, bounds: Bounds) -> u32 {
        let limit = match bounds.attempts {
            Attempts::Own(attempts) => attempts.get(),
            Attempts::Configured => self.max_attempts,
        };
        let origins = u32::try_from(self.origins().len()).unwrap_or(u32::MAX);
        limit.min(origins).max(1)
    }

    /// The limits that hold; none where they are off.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        match &self.policy {
            Some(policy) if !self.limits_off => &policy.limits,
            _ => &[],
        }
    }

    /// The limit of a target's route.
    #[must_use]
    pub fn limit(&self, target: &Target) -> Option<&Limit> {
        self.limits().get(target.limit()?)
    }

    /// How many buckets an instance keeps.
    #[must_use]
    pub fn max_entries(&self) -> NonZeroU32 {
        self.policy.as_ref().map_or(DEFAULT_MAX_ENTRIES, |policy| policy.max_entries)
    }

    /// Says in the log what must be said once in the life of an instance.
    pub fn announce(&self) {
        let limits = self.policy.as_ref().is_some_and(|policy| !policy.limits.is_empty());
        if self.limits_off && limits {
            Event::LimitsOff.emit();
        }
    }

    /// What is wrong with the configuration, in the order of the table of variables.
    #[must_use]
    pub fn errors(&self) -> &[ConfigError] {
        &self.errors
    }

    /// What is wrong with one variable: why there are no origins, or no policy.
    pub fn errors_of(&self, key: &'static str) -> impl Iterator<Item = &ConfigError> {
        self.errors.iter().filter(move |error| error.key() == key)
    }
}

/// Every bad entry is named; one is enough to leave the whole list unused, so that no operator
/// believes in a failover that is not there.
fn read_backends(text: Option<&str>, errors: &mut Vec<ConfigError>) -> Backends {
    let mut fault = |place, rule| errors.push(ConfigError::at(BACKEND_ORIGINS_JSON, place, rule));
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        fault(String::new(), ConfigRule::Missing);
        return Backends::Unset;
    };
    let Ok(Json::Array(entries)) = Json::parse(text) else {
        fault(String::new(), ConfigRule::NotAnArray);
        return Backends::Misconfigured;
    };
    if entries.is_empty() {
        fault(String::new(), ConfigRule::Empty);
        return Backends::Unset;
    }
    let mut origins = Vec::new();
    let mut whole = true;
    for (index, entry) in entries.iter().enumerate() {
        match entry.as_str().ok_or(OriginRule::NotAString).and_then(Origin::parse) {
            Ok(origin) if origins.contains(&origin) => {}
            Ok(origin) => origins.push(origin),
            Err(rule) => {
                whole = false;
                fault(format!("[{index}]"), ConfigRule::Origin(rule));
            }
        }
    }
    match whole {
        true => Backends::Origins(origins),
        false => Backends::Misconfigured,
    }
}

/// A blank document is none: the built-in policy stands.
fn read_policy(text: Option<&str>, errors: &mut Vec<ConfigError>) -> Option<Policy> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Some(Policy::built_in());
    };
    Policy::read(text).map_err(|faults| errors.extend(faults)).ok()
}

fn read_number(key: &'static str, text: Option<String>, default: u32, errors: &mut Vec<ConfigError>) -> u32 {
    match text.as_deref().map(str::trim) {
        None | Some("") => default,
        Some(text) => number::parse(text).unwrap_or_else(|| {
            errors.push(ConfigError::new(key, ConfigRule::Number { default }));
            default
        }),
    }
}

fn read_switch(key: &'static str, text: Option<String>, errors: &mut Vec<ConfigError>) -> bool {
    match text.as_deref() {
        Some("1" | "true") => true,
        None | Some("" | "0" | "false") => false,
        Some(_) => {
            errors.push(ConfigError::new(key, ConfigRule::Switch));
            false
        }
    }
}

#[cfg(test)]
mod tests;
