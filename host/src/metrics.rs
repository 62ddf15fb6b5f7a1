//! `--metrics`: what the host counts, as Prometheus reads it. Every label is of a closed set, so no
//! client can make series: routes and origins are those of the configuration.

mod listener;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use messageweave_lb::policy::routes::Routes;
use messageweave_lb::policy::safelist::HEALTH_PATH;
use messageweave_lb::policy::settings::Settings;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use listener::serve;

/// Any path without a route, any origin that is not configured.
pub(crate) const OTHER: &str = "other";

/// The upper bounds of the buckets, in seconds: up to the long jobs.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0, 330.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: Arc<str>,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOrigin {
    origin: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    class: String,
    origin: Arc<str>,
}

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<OfRoute, Histogram, fn() -> Histogram>,
    attempts: Family<OfOrigin, Counter>,
    failovers: Family<OfRoute, Counter>,
    failures: Family<Failed, Counter>,
    labels: ArcSwap<Labels>,
}

/// What labels may say, as the configuration has it.
#[derive(Default)]
struct Labels {
    origins: BTreeSet<Arc<str>>,
    routes: Option<Routes>,
    /// The paths and prefixes of the routes.
    paths: BTreeSet<Arc<str>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("messageweave_lb"),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            attempts: Family::default(),
            failovers: Family::default(),
            failures: Family::default(),
            labels: ArcSwap::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests by route and status", metrics.requests.clone());
        registry.register(
            "request_duration_seconds",
            "From the head of a request to the end of its answer",
            metrics.durations.clone(),
        );
        registry.register("attempts", "Attempts by origin", metrics.attempts.clone());
        registry.register("failovers", "Attempts after the first of a request", metrics.failovers.clone());
        registry.register(
            "failures",
            "Failed attempts and health probes by class and origin in the words of the log, and answers that broke off",
            metrics.failures.clone(),
        );
        metrics
    }

    /// A new configuration: its origins and routes are labels from now on.
    pub(crate) fn configure(&self, settings: &Settings) {
        let routes = settings.policy.as_ref().map(|policy| policy.routes.clone());
        let paths = routes.iter().flat_map(Routes::iter).map(|route| route.matcher.text());
        self.labels.store(Arc::new(Labels {
            origins: settings.origins().iter().map(|origin| origin.as_str().into()).collect(),
            paths: paths.chain([HEALTH_PATH]).map(Arc::from).collect(),
            routes,
        }));
    }

    /// The path or prefix of the route of a path, or `other`.
    pub(crate) fn route_of(&self, path: &str) -> Arc<str> {
        let labels = self.labels.load();
        let text = match path {
            HEALTH_PATH => Some(HEALTH_PATH),
            _ => labels
                .routes
                .as_ref()
                .and_then(|routes| routes.route_of(path))
                .map(|route| route.matcher.text()),
        };
        text.and_then(|text| labels.paths.get(text)).map_or_else(|| OTHER.into(), Arc::clone)
    }

    pub(crate) fn answered(&self, route: Arc<str>, status: u16, duration: Duration) {
        self.requests.get_or_create(&Answered { route: Arc::clone(&route), status }).inc();
        self.durations.get_or_create(&OfRoute { route }).observe(duration.as_secs_f64());
    }

    pub(crate) fn attempted(&self, route: Arc<str>, origin: &str, number: u32) {
        self.attempts.get_or_create(&OfOrigin { origin: self.label(origin) }).inc();
        if number > 1 {
            self.failovers.get_or_create(&OfRoute { route }).inc();
        }
    }

    /// `failure` is the log's word for it.
    pub(crate) fn failed(&self, origin: &str, failure: &str) {
        let labels = Failed { class: failure.to_owned(), origin: self.label(origin) };
        self.failures.get_or_create(&labels).inc();
    }

    fn label(&self, origin: &str) -> Arc<str> {
        self.labels.load().origins.get(origin).map_or_else(|| OTHER.into(), Arc::clone)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(origins: &str) -> Settings {
        Settings::from_vars(|name| (name == "BACKEND_ORIGINS_JSON").then(|| origins.to_owned()))
    }

    #[test]
    fn no_label_is_a_clients_own_text() {
        let metrics = Metrics::new();
        metrics.configure(&of(r#"["https://a.example"]"#));
        metrics.attempted(metrics.route_of("/ready"), "https://a.example", 1);
        metrics.attempted(metrics.route_of("/s3cret"), "https://hop.example", 2);
        metrics.answered(metrics.route_of("/ready/"), 404, Duration::from_millis(3));
        metrics.failed("https://a.example", "HTTP 502");
        let text = metrics.text();
        for line in [
            "messageweave_lb_attempts_total{origin=\"https://a.example\"} 1",
            "messageweave_lb_attempts_total{origin=\"other\"} 1",
            "messageweave_lb_failovers_total{route=\"other\"} 1",
            "messageweave_lb_requests_total{route=\"other\",status=\"404\"} 1",
            "messageweave_lb_failures_total{class=\"HTTP 502\",origin=\"https://a.example\"} 1",
            "messageweave_lb_request_duration_seconds_count{route=\"other\"} 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("s3cret") && !text.contains("hop.example"), "{text}");
    }

    #[test]
    fn an_origin_that_a_new_configuration_drops_is_no_label_any_more() {
        let metrics = Metrics::new();
        metrics.configure(&of(r#"["https://a.example"]"#));
        metrics.configure(&of(r#"["https://b.example"]"#));
        assert_eq!(metrics.label("https://a.example").as_ref(), OTHER);
        assert_eq!(metrics.label("https://b.example").as_ref(), "https://b.example");
    }
}
