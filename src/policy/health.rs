//! `/healthz-worker`: the aggregate health view and its cache (contract 2.8).
//!
//! The cache is a value that the shell keeps as long as its host keeps the instance. Requests that
//! share it share its probes: at most one per origin is in flight. Forwarding never looks at it.
//! What is shown is JSON, or a page to who prefers one (`accept`, `page`).

pub mod accept;
mod page;

use super::exchange::Action;
use super::failure::{Exhausted, Failure};
use super::reply::Reply;
use super::settings::{Backends, Settings};
use super::time::Millis;
use accept::Form;
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

    /// Reads the outcome of a probe's exchange, or nothing while it is under way. A probe has no
    /// client that could be refused: where it is, whoever asked for it has gone.
    #[must_use]
    pub const fn of(action: &Action<'_>) -> Option<Self> {
        match action {
            Action::Send | Action::Wait(_) | Action::Refuse(_) => None,
            Action::Answer(answer) => Some(Self { up: true, status: Some(answer.status) }),
            Action::Exhausted(Exhausted { failure: Failure::Status(status), .. }, _) => {
                Some(Self { up: false, status: Some(*status) })
            }
            Action::Exhausted(..) => Some(Self::DOWN),
        }
    }
}

/// What is known of each origin, by its place in the list.
#[derive(Debug, Default)]
pub struct HealthCache(Vec<Entry>);

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// The last verdict, and when it came.
    last: Option<(Verdict, Millis)>,
    /// Whether a probe is under way.
    probing: bool,
}

/// What a request for the view has to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Probe the origins at these places, all at once; [`HealthCache::record`] each verdict, or
    /// [`HealthCache::abandon`] the probe.
    Probe(Vec<usize>),
    /// Wait for a probe of another request to be recorded or abandoned, then ask again.
    Wait,
    /// Answer.
    View,
}

impl HealthCache {
    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The next step of a request that came at `since`. A verdict is good until the TTL; one that
    /// came while the request was waiting is good for it, however short the TTL.
    #[must_use]
    pub fn step(&mut self, settings: &Settings, since: Millis, now: Millis) -> Step {
        self.0.resize(settings.origins().len(), Entry::default());
        let is_due =
            |entry: &Entry| entry.last.is_none_or(|(_, at)| at < since && now - at >= settings.health_ttl);
        let mut due = Vec::new();
        let mut waiting = false;
        for (index, entry) in self.0.iter_mut().enumerate().filter(|(_, entry)| is_due(entry)) {
            if entry.probing {
                waiting = true;
            } else {
                entry.probing = true;
                due.push(index);
            }
        }
        match (due.is_empty(), waiting) {
            (false, _) => Step::Probe(due),
            (true, true) => Step::Wait,
            (true, false) => Step::View,
        }
    }

    /// Keeps the verdict on the origin at that place; its probe is over.
    pub fn record(&mut self, index: usize, verdict: Verdict, now: Millis) {
        if let Some(entry) = self.0.get_mut(index) {
            *entry = Entry { last: Some((verdict, now)), probing: false };
        }
    }

    /// The probe of the origin at that place ended without a verdict: the next request begins it
    /// anew.
    pub fn abandon(&mut self, index: usize) {
        if let Some(entry) = self.0.get_mut(index) {
            entry.probing = false;
        }
    }

    /// The view of what is known, in that form.
    #[must_use]
    pub fn view(&self, settings: &Settings, form: Form) -> Reply {
        let backends: Vec<_> = settings
            .origins()
            .iter()
            .enumerate()
            .map(|(index, origin)| {
                let last = self.0.get(index).and_then(|entry| entry.last);
                let Verdict { up, status } = last.map_or(Verdict::DOWN, |(verdict, _)| verdict);
                Backend { origin: origin.as_str(), up, status }
            })
            .collect();
        let available = backends.iter().filter(|backend| backend.up).count();
        let (code, status) = match (&settings.backends, available) {
            (Backends::Unset, _) => (200, "no-backends"),
            (Backends::Misconfigured, _) => return misconfigured(settings, form),
            (Backends::Origins(_), 0) => (503, "down"),
            (Backends::Origins(_), _) => (200, "ok"),
        };
        let version = &settings.version;
        View { status, version, available, total: backends.len(), backends }.reply(code, form)
    }
}

/// The view where the origins are bad, or are not those that requests would go to: it shows none.
#[must_use]
pub fn misconfigured(settings: &Settings, form: Form) -> Reply {
    let (status, version) = ("misconfigured", &settings.version);
    View { status, version, available: 0, total: 0, backends: Vec::new() }.reply(503, form)
}

impl View<'_> {
    fn reply(&self, code: u16, form: Form) -> Reply {
        match form {
            // Strings, numbers and booleans always serialize.
            Form::Json => Reply::json(code, serde_json::to_vec(self).unwrap_or_default()),
            Form::Html => Reply::html(code, page::POLICY, page::render(self, code == 200)),
        }
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
        assert_eq!(cache.step(&settings, Millis(0), Millis(0)), Step::Probe(vec![0, 1]));
        cache.record(1, Verdict::DOWN, Millis(0));
        cache.record(0, Verdict { up: true, status: Some(200) }, Millis(0));
        let reply = cache.view(&settings, Form::Json);
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
            let reply = HealthCache::new().view(&settings(json), Form::Json);
            let start = format!(r#"{{"status":"{status}","version":"unknown","available":0,"#);
            assert_eq!(reply.status, code, "{json}");
            assert!(body(&reply).starts_with(&start), "{json}");
        }
    }

    const UP: Verdict = Verdict { up: true, status: Some(200) };

    #[test]
    fn a_verdict_is_served_until_the_ttl_and_not_past_it() {
        let settings = settings(r#"["https://a.example","https://b.example"]"#);
        let mut cache = HealthCache::new();
        let mut step = |at: u64| cache.step(&settings, Millis(at), Millis(at));
        assert_eq!(step(0), Step::Probe(vec![0, 1]));
        cache.record(0, UP, Millis(3));
        cache.record(1, Verdict::DOWN, Millis(5));
        let mut step = |at: u64| cache.step(&settings, Millis(at), Millis(at));
        assert_eq!(step(1002), Step::View);
        assert_eq!(step(1003), Step::Probe(vec![0]));
        assert_eq!(step(1005), Step::Probe(vec![1]));
    }

    #[test]
    fn a_second_request_waits_for_the_probes_of_the_first() {
        let settings = settings(r#"["https://a.example","https://b.example"]"#);
        let mut cache = HealthCache::new();
        assert_eq!(cache.step(&settings, Millis(0), Millis(0)), Step::Probe(vec![0, 1]));
        assert_eq!(cache.step(&settings, Millis(1), Millis(1)), Step::Wait);
        cache.record(0, UP, Millis(2));
        assert_eq!(cache.step(&settings, Millis(1), Millis(2)), Step::Wait);
        cache.record(1, UP, Millis(3));
        assert_eq!(cache.step(&settings, Millis(1), Millis(3)), Step::View);
    }

    #[test]
    fn a_verdict_that_came_while_a_request_waited_is_good_for_it() {
        let settings = settings(r#"["https://a.example"]"#);
        let mut cache = HealthCache::new();
        assert_eq!(cache.step(&settings, Millis(0), Millis(0)), Step::Probe(vec![0]));
        cache.record(0, UP, Millis(10));
        assert_eq!(cache.step(&settings, Millis(10), Millis(9000)), Step::View);
        assert_eq!(cache.step(&settings, Millis(11), Millis(9000)), Step::Probe(vec![0]));
    }

    #[test]
    fn an_abandoned_probe_is_begun_anew_by_who_waits_for_it() {
        let settings = settings(r#"["https://a.example"]"#);
        let mut cache = HealthCache::new();
        assert_eq!(cache.step(&settings, Millis(0), Millis(0)), Step::Probe(vec![0]));
        assert_eq!(cache.step(&settings, Millis(1), Millis(1)), Step::Wait);
        cache.abandon(0);
        assert_eq!(cache.step(&settings, Millis(1), Millis(2)), Step::Probe(vec![0]));
    }
}
