//! The built-in policy: MessageWeave's closed safelist of 19 paths, their methods, and how long each
//! may take (contract 2.3).
//!
//! `POST /api/bootstrap` and `/debug/*` are absent on purpose: they stay on the origins.

use super::method::{Method, Methods};
use super::route::{Attempts, Bounds, Matcher, Route, Timeout};
use std::borrow::Cow;
use std::num::NonZeroU32;

/// The balancer's own endpoint; never forwarded.
pub const HEALTH_PATH: &str = "/healthz-worker";

const GET: Methods = Methods::only(Method::Get);
const POST: Methods = Methods::only(Method::Post);
const GET_PUT: Methods = GET.and(Method::Put);

/// The job holds a cluster-wide lock: a second instance would answer 409 at once.
const RECONCILE: Bounds = single(Timeout::Reconcile);
/// A second run would drain the same batch twice.
const WORKER: Bounds = single(Timeout::Worker);

/// The safelist, sorted by path (a test holds the order, the search relies on it).
pub static SAFELIST: [Route; 19] = [
    route("/", GET, Bounds::ORDINARY),
    route("/api/admin/session", POST, Bounds::ORDINARY),
    route("/api/admin/session/revoke", POST, Bounds::ORDINARY),
    route("/api/business-config", GET_PUT, Bounds::ORDINARY),
    route("/api/business-config/preflight", POST, Bounds::ORDINARY),
    route("/api/config", GET_PUT, Bounds::ORDINARY),
    route("/api/enabled", GET_PUT, Bounds::ORDINARY),
    route("/api/push/disable", POST, Bounds::ORDINARY),
    route("/api/push/register", POST, Bounds::ORDINARY),
    route("/api/status", GET, Bounds::ORDINARY),
    route("/api/telegram/register-webhook", POST, Bounds::ORDINARY),
    route("/assets/config.js", GET, Bounds::ORDINARY),
    route("/assets/styles.css", GET, Bounds::ORDINARY),
    route("/healthz", GET, Bounds::ORDINARY),
    route("/push/jmap", POST, Bounds::ORDINARY),
    route("/ready", GET, Bounds::ORDINARY),
    route("/reconcile", POST, RECONCILE),
    route("/webhook/tg", POST, Bounds::ORDINARY),
    route("/worker", POST, WORKER),
];

const fn route(path: &'static str, methods: Methods, bounds: Bounds) -> Route {
    Route { matcher: Matcher::Exact(Cow::Borrowed(path)), methods, bounds, limit: None }
}

const fn single(timeout: Timeout) -> Bounds {
    Bounds { timeout, attempts: Attempts::Own(NonZeroU32::MIN) }
}

#[cfg(test)]
mod tests {
    use super::super::fence::Fenced;
    use super::super::routes::{Lookup, Routes};
    use super::*;

    const ROUTES: Routes = Routes::of_sorted(&SAFELIST);

    #[test]
    fn the_safelist_is_sorted_without_duplicates_and_passes_the_fence() {
        assert!(SAFELIST.windows(2).all(|pair| pair[0].matcher.text() < pair[1].matcher.text()));
        assert!(SAFELIST.iter().all(|route| Fenced::new(route.matcher.text()).is_ok()));
        assert_eq!(Routes::new(SAFELIST.to_vec()), ROUTES);
    }

    #[test]
    fn every_route_answers_to_its_own_methods_alone() {
        for route in &SAFELIST {
            let path = route.matcher.text();
            for method in ["GET", "PUT", "POST", "HEAD", "OPTIONS", "DELETE", "get", ""] {
                let on_the_list = route.methods.iter().any(|known| known.as_str() == method);
                match ROUTES.look_up(path, None, method) {
                    Lookup::Found(found) => assert!(on_the_list && found.path() == path),
                    Lookup::OtherMethod(allowed) => assert!(!on_the_list && allowed == route.methods),
                    other => panic!("{path} {method}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn no_other_spelling_of_a_path_matches() {
        let spellings = [
            "",
            "*",
            "//",
            "/ready/",
            "//ready",
            "/./ready",
            "/x/../ready",
            "/Ready",
            "/READY",
            "/%72eady",
            "/ready%2f",
            "/ready%5c",
            "/ready\\",
            "\\ready",
            "/ready;a=b",
            "/ready%00",
            "/%2e/ready",
            "/api%2fconfig",
            "/%2572eady",
            "ready",
            "/ready ",
            "/ready.",
            "/healthz-worker/",
            "/api/bootstrap",
            "/debug/pprof",
            "/assets",
            "/assets/",
            "/assets/other.js",
        ];
        for path in spellings {
            assert_eq!(ROUTES.look_up(path, None, "GET"), Lookup::Unknown, "{path:?}");
        }
    }

    #[test]
    fn a_record_leads_back_to_a_target_only_if_it_is_on_the_list() {
        let target = ROUTES.of_record("/ready?a=1", "GET").unwrap();
        assert_eq!((target.path(), target.path_with_query()), ("/ready", "/ready?a=1"));
        assert_eq!(ROUTES.of_record("/login", "GET"), None);
        assert_eq!(ROUTES.of_record("/ready", "POST"), None);
        assert_eq!(ROUTES.of_record(HEALTH_PATH, "GET"), None);
    }
}
