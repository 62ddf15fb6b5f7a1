//! `/healthz-worker`: the aggregate health view and its cache (contract 2.8).
//!
//! The cache is a value that the shell keeps as long as its host keeps the instance. Forwarding
//! never looks at it.

use super::exchange::Action;
use super::failure::{Exhausted, Failure};
use super::reply::Reply;
use super::settings::{Backends, Settings};
use super::time::Millis;
use serde::Serialize;

/// What one probe found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the origin answered below 500.
    pub up: bool,
    /// The status, if there was an answer at all.
    pub status: Option<u16>,
}

impl Verdict {
    /// A probe that brought no answer.
    pub const DOWN: Self = Self { up: false, status: None };

    /// Reads the outcome of a probe's exchange, or nothing while it is under way.
    #[must_use]
    pub const fn of(action: &Action<'_>) -> Option<Self> {
        match action {
            Action::Send | Action::Wait(_) => None,
            Action::Answer(answer) => Some(Self { up: true, status: Some(answer.status) }),
            Action::Exhausted(Exhausted { failure: Failure::Status(status), .. }) => {
                Some(Self { up: false, status: Some(*status) })
            }
            Action::Exhausted(_) | Action::Refuse(_) => Some(Self::DOWN),
        }
    }
}

/// The last verdict on each origin, by its place in the list.
#[derive(Debug, Default)]
pub struct HealthCache(Vec<Option<(Verdict, Millis)>>);

impl HealthCache {
    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The places of the origins that need a probe: never probed, or longer ago than the TTL.
    #[must_use]
    pub fn due(&self, settings: &Settings, now: Millis) -> Vec<usize> {
        let fresh = |index: usize| {
            let entry = self.0.get(index).copied().flatten();
            entry.is_some_and(|(_, at)| now - at < settings.health_ttl)
        };
        (0..settings.origins().len()).filter(|index| !fresh(*index)).collect()
    }

    /// Keeps the verdict on the origin at that place.
    pub fn record(&mut self, index: usize, verdict: Verdict, now: Millis) {
        if self.0.len() <= index {
            self.0.resize(index.saturating_add(1), None);
        }
        if let Some(entry) = self.0.get_mut(index) {
            *entry = Some((verdict, now));
        }
    }

    /// The view of what is known.
    #[must_use]
    pub fn view(&self, settings: &Settings) -> Reply {
        let backends: Vec<_> = settings
            .origins()
            .iter()
            .enumerate()
            .map(|(index, origin)| {
                let entry = self.0.get(index).copied().flatten();
                let Verdict { up, status } = entry.map_or(Verdict::DOWN, |(verdict, _)| verdict);
                Backend { origin: origin.as_str(), up, status }
            })
            .collect();
        let available = backends.iter().filter(|backend| backend.up).count();
        let (code, status) = match (&settings.backends, available) {
            (Backends::Unset, _) => (200, "no-backends"),
            (Backends::Misconfigured, _) => (503, "misconfigured"),
            (Backends::Origins(_), 0) => (503, "down"),
            (Backends::Origins(_), _) => (200, "ok"),
        };
        let view = View { status, version: &settings.version, available, total: backends.len(), backends };
        // Strings, numbers and booleans always serialize.
        Reply::json(code, serde_json::to_vec(&view).unwrap_or_default())
    }
}

/// The document, its fields in this order.
#[derive(Serialize)]
struct View<'a> {
    status: &'static str,
    version: &'a str,
    available: usize,
    total: usize,
    backends: Vec<Backend<'a>>,
}

#[derive(Serialize)]
struct Backend<'a> {
    origin: &'a str,
    up: bool,
    status: Option<u16>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: &str) -> Settings {
        Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(json.to_owned()),
            "LB_HEALTH_TTL_MS" => Some("1000".to_owned()),
            _ => None,
        })
    }

    fn body(reply: &Reply) -> &str {
        std::str::from_utf8(&reply.body).unwrap()
    }

    #[test]
    fn the_view_has_exactly_the_documented_fields_in_order() {
        let settings = settings(r#"["https://a.example","https://b.example"]"#);
        let mut cache = HealthCache::new();
        cache.record(1, Verdict::DOWN, Millis(0));
        cache.record(0, Verdict { up: true, status: Some(200) }, Millis(0));
        let reply = cache.view(&settings);
        assert_eq!(reply.status, 200);
        assert_eq!(
            body(&reply),
            concat!(
                r#"{"status":"ok","version":"unknown","available":1,"total":2,"backends":["#,
                r#"{"origin":"https://a.example","up":true,"status":200},"#,
                r#"{"origin":"https://b.example","up":false,"status":null}]}"#
            )
        );
    }

    #[test]
    fn each_configuration_has_its_status() {
        for (json, code, status) in [
            ("", 200, "no-backends"),
            ("[]", 200, "no-backends"),
            ("{", 503, "misconfigured"),
            (r#"["http://a"]"#, 503, "misconfigured"),
            (r#"["https://a"]"#, 503, "down"),
        ] {
            let reply = HealthCache::new().view(&settings(json));
            let start = format!(r#"{{"status":"{status}","version":"unknown","available":0,"#);
            assert_eq!(reply.status, code, "{json}");
            assert!(body(&reply).starts_with(&start), "{json}");
        }
    }

    #[test]
    fn a_verdict_is_served_until_the_ttl_and_not_past_it() {
        let settings = settings(r#"["https://a.example","https://b.example"]"#);
        let mut cache = HealthCache::new();
        assert_eq!(cache.due(&settings, Millis(0)), [0, 1]);
        cache.record(1, Verdict::DOWN, Millis(5));
        assert_eq!(cache.due(&settings, Millis(1004)), [0]);
        assert_eq!(cache.due(&settings, Millis(1005)), [0, 1]);
    }
}
