//! The closed safelist: 19 paths, their methods, and how long each may take (contract 2.3).
//!
//! A path matches exactly or not at all; it is never normalised into a match. `POST /api/bootstrap`
//! and `/debug/*` are absent on purpose: they stay on the origins.

use std::fmt;

/// A method that a route can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`; never carries a body upstream.
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// The method as it stands on the wire; methods are case-sensitive (RFC 9110 section 9.1).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }

    /// Whether a request with this method may carry a body.
    #[must_use]
    pub const fn carries_body(self) -> bool {
        !matches!(self, Self::Get)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What bounds a route: the failover of 2.6, or one attempt on a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// `LB_MAX_ATTEMPTS` attempts of `LB_REQUEST_TIMEOUT_MS` each.
    Ordinary,
    /// One attempt of `LB_RECONCILE_TIMEOUT_MS`: the job holds a cluster-wide lock, a second
    /// instance would answer 409 at once.
    Reconcile,
    /// One attempt of `LB_WORKER_TIMEOUT_MS`: a second run would drain the same batch twice.
    Worker,
}

/// One row of the safelist.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The literal path.
    pub path: &'static str,
    /// Its methods, in the order of the `allow` field.
    pub methods: &'static [Method],
    /// Its bounds.
    pub job: Job,
}

const GET: &[Method] = &[Method::Get];
const POST: &[Method] = &[Method::Post];
const GET_PUT: &[Method] = &[Method::Get, Method::Put];

/// The safelist, sorted by path (a test holds the order, the search relies on it).
pub static ROUTES: [Route; 19] = [
    route("/", GET),
    route("/api/admin/session", POST),
    route("/api/admin/session/revoke", POST),
    route("/api/business-config", GET_PUT),
    route("/api/business-config/preflight", POST),
    route("/api/config", GET_PUT),
    route("/api/enabled", GET_PUT),
    route("/api/push/disable", POST),
    route("/api/push/register", POST),
    route("/api/status", GET),
    route("/api/telegram/register-webhook", POST),
    route("/assets/config.js", GET),
    route("/assets/styles.css", GET),
    route("/healthz", GET),
    route("/push/jmap", POST),
    route("/ready", GET),
    Route { path: "/reconcile", methods: POST, job: Job::Reconcile },
    route("/webhook/tg", POST),
    Route { path: "/worker", methods: POST, job: Job::Worker },
];

const fn route(path: &'static str, methods: &'static [Method]) -> Route {
    Route { path, methods, job: Job::Ordinary }
}

/// The balancer's own endpoint; never forwarded.
pub const HEALTH_PATH: &str = "/healthz-worker";

/// What the safelist says of a path and a method.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup {
    /// On the list: what is sent for it.
    Found(Target),
    /// A known path with another method: `405`.
    OtherMethod(&'static [Method]),
    /// The balancer's own health view.
    Health,
    /// Not on the list: `404`.
    Unknown,
}

/// Looks a path and a method up, both byte for byte; the query, behind its `?`, goes on with what was
/// found.
#[must_use]
pub fn look_up(path: &str, query: Option<&str>, method: &str) -> Lookup {
    if path == HEALTH_PATH {
        return match method == Method::Get.as_str() {
            true => Lookup::Health,
            false => Lookup::OtherMethod(GET),
        };
    }
    let found = ROUTES.binary_search_by(|route| route.path.cmp(path)).ok();
    let Some(route) = found.and_then(|index| ROUTES.get(index)) else {
        return Lookup::Unknown;
    };
    match route.methods.iter().find(|known| known.as_str() == method) {
        Some(known) => Lookup::Found(Target::new(route, *known, query)),
        None => Lookup::OtherMethod(route.methods),
    }
}

/// Where the first request of an attempt goes: a literal of the safelist and the query as it was
/// received. Only this file can make one, so no path that a client spelt is ever forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    route: &'static Route,
    method: Method,
    path_with_query: String,
}

impl Target {
    /// The target of a route that was found, with the query behind its `?`, if there was one.
    fn new(route: &'static Route, method: Method, query: Option<&str>) -> Self {
        let path_with_query = match query {
            Some(query) => [route.path, "?", query].concat(),
            None => route.path.to_owned(),
        };
        Self { route, method, path_with_query }
    }

    /// The target of a request that was admitted earlier, from its path as it stands in a host's own
    /// record.
    #[must_use]
    pub fn of_record(path_with_query: &str, method: &str) -> Option<Self> {
        let (path, query) = match path_with_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_with_query, None),
        };
        match look_up(path, query, method) {
            Lookup::Found(target) => Some(target),
            _ => None,
        }
    }

    /// The target of a health probe: `GET /healthz`.
    #[must_use]
    pub(super) fn health_probe() -> Option<Self> {
        Self::of_record("/healthz", Method::Get.as_str())
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The safelist's literal, without the query: fit for a log.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        self.route.path
    }

    /// The route's bounds.
    #[must_use]
    pub const fn job(&self) -> Job {
        self.route.job
    }

    /// What is sent.
    #[must_use]
    pub fn path_with_query(&self) -> &str {
        &self.path_with_query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safelist_is_sorted_without_duplicates() {
        assert!(ROUTES.windows(2).all(|pair| pair[0].path < pair[1].path));
    }

    #[test]
    fn every_route_answers_to_its_own_methods_alone() {
        for route in &ROUTES {
            for method in ["GET", "PUT", "POST", "HEAD", "OPTIONS", "DELETE", "get", ""] {
                let on_the_list = route.methods.iter().any(|known| known.as_str() == method);
                match look_up(route.path, None, method) {
                    Lookup::Found(found) => assert!(on_the_list && found.path() == route.path),
                    Lookup::OtherMethod(allowed) => assert!(!on_the_list && allowed == route.methods),
                    other => panic!("{} {method}: {other:?}", route.path),
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
            assert_eq!(look_up(path, None, "GET"), Lookup::Unknown, "{path:?}");
        }
    }

    #[test]
    fn the_query_travels_as_received() {
        for (query, expected) in
            [(None, "/ready"), (Some(""), "/ready?"), (Some("a=1&b=%20?"), "/ready?a=1&b=%20?")]
        {
            let Lookup::Found(target) = look_up("/ready", query, "GET") else { panic!() };
            assert_eq!(target.path_with_query(), expected);
        }
    }

    #[test]
    fn the_health_view_is_get_only() {
        assert_eq!(look_up(HEALTH_PATH, None, "GET"), Lookup::Health);
        assert_eq!(look_up(HEALTH_PATH, None, "HEAD"), Lookup::OtherMethod(GET));
    }

    #[test]
    fn a_record_leads_back_to_a_target_only_if_it_is_on_the_list() {
        let target = Target::of_record("/ready?a=1", "GET").unwrap();
        assert_eq!((target.path(), target.path_with_query()), ("/ready", "/ready?a=1"));
        assert_eq!(Target::of_record("/login", "GET"), None);
        assert_eq!(Target::of_record("/ready", "POST"), None);
        assert_eq!(Target::of_record(HEALTH_PATH, "GET"), None);
    }

    #[test]
    fn a_health_probe_has_a_target() {
        assert_eq!(Target::health_probe().unwrap().path_with_query(), "/healthz");
    }
}
