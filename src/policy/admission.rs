//! Admission: what becomes of a request, decided by its head and the configuration alone
//! (contract 2.1). The order of the steps is the contract: 400, 308, the balancer's own endpoint, a
//! policy that is bad, 404, 405, the limit, origins that are bad, forward.

use super::authority::Authority;
use super::event::Event;
use super::headers::Headers;
use super::health::accept::Form;
use super::limit::address::Address;
use super::limit::answer::Usage;
use super::limit::gate::Gate;
use super::limit::window::Hit;
use super::method::{Method, Methods};
use super::plan::Plan;
use super::reply::Reply;
use super::routes::{Lookup, Target};
use super::safelist::HEALTH_PATH;
use super::settings::{BACKEND_ORIGINS_JSON, LB_POLICY_JSON, Settings};
use super::upgrade::{self, Scheme};

/// The head of a client's request, as the host reports it.
#[derive(Debug)]
pub struct RequestHead<'a> {
    /// The method, byte for byte.
    pub method: &'a str,
    /// Path and query as received; `/` stands for an absent or empty path.
    pub path_with_query: Option<&'a str>,
    /// The scheme by which the request arrived, if the host knows.
    pub scheme: Option<Scheme>,
    /// The authority of the request target, or what the host takes for it.
    pub authority: Option<&'a str>,
    /// The header section; it may lack `host` and `connection`, which some hosts keep to themselves.
    pub headers: Headers,
    /// The address of the connection, with or without its port, where the host tells it.
    pub peer: Option<&'a [u8]>,
}

/// How far a request came by its head alone.
#[derive(Debug)]
pub enum Admission<'s> {
    /// It is decided.
    Decided(Decision<'s>),
    /// Its route has a limit: it is counted first.
    Limited(Box<Gate<'s>>),
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Decision<'s> {
    /// The balancer answers itself.
    Reply(Reply),
    /// The balancer answers with its health view, in that form.
    Health(Form),
    /// The request goes to an origin.
    Forward(Box<Plan<'s>>),
}

impl<'s> Admission<'s> {
    /// What becomes of the request, with the shell to count it if need be.
    #[must_use]
    pub fn counted(self, count: impl FnOnce(&Gate<'s>) -> Hit) -> Decision<'s> {
        match self {
            Self::Decided(decision) => decision,
            Self::Limited(gate) => {
                let hit = count(&gate);
                gate.pass(hit)
            }
        }
    }
}

/// Decides, up to the limit of the route, if it has one.
#[must_use]
pub fn admit<'s>(settings: &'s Settings, request: RequestHead<'_>) -> Admission<'s> {
    let refuse = |reply| Admission::Decided(Decision::Reply(reply));
    let hosts: Vec<_> = request.headers.all("host").collect();
    let authority = Authority::of_request(request.authority.map(str::as_bytes), &hosts);
    // A host that reports neither scheme nor authority nor Host keeps them to itself: then there is
    // nothing to judge, and nothing to build a 308 from.
    let is_hidden = request.scheme.is_none() && request.authority.is_none() && hosts.is_empty();
    let arrived_over_https = upgrade::arrived_over_https(settings, request.scheme, &request.headers);
    if authority.is_err() && !(is_hidden && arrived_over_https) {
        return refuse(Reply::malformed_host());
    }
    let (path, query) = split(request.path_with_query);
    if let Ok(authority) = authority
        && !arrived_over_https
    {
        // `OPTIONS *` has no path, and no URL could hold the asterisk.
        let path = if path.starts_with('/') { path } else { "/" };
        let rest = [path, query.map_or("", |_| "?"), query.unwrap_or_default()].concat();
        return refuse(Reply::upgrade(&authority, &rest));
    }
    if path == HEALTH_PATH {
        return Admission::Decided(own_endpoint(&request));
    }
    match route(settings, path, query, request.method) {
        Ok(target) => limit(settings, target, request),
        Err(reply) => refuse(reply),
    }
}

/// The balancer's own endpoint, which no policy can hide.
fn own_endpoint<'s>(request: &RequestHead<'_>) -> Decision<'s> {
    match Method::named(request.method) {
        Some(Method::Get) => Decision::Health(Form::preferred(&request.headers)),
        _ => Decision::Reply(Reply::method_not_allowed(HEALTH_PATH, Methods::only(Method::Get))),
    }
}

fn limit<'s>(settings: &'s Settings, target: Target, request: RequestHead<'_>) -> Admission<'s> {
    let RequestHead { headers, peer, .. } = request;
    match settings.limit(&target) {
        Some(limit) => {
            let address = Address::of_client(&limit.client_address, &headers, peer);
            Admission::Limited(Box::new(Gate { settings, limit, target, headers, address }))
        }
        None => Admission::Decided(forward(settings, target, headers, None)),
    }
}

/// The last step: on to an origin, if there are any.
pub(super) fn forward(
    settings: &Settings,
    target: Target,
    headers: Headers,
    usage: Option<Usage>,
) -> Decision<'_> {
    if settings.origins().is_empty() {
        log_errors(settings, BACKEND_ORIGINS_JSON);
        return Decision::Reply(Reply::misconfigured().with_usage(usage));
    }
    let mut plan = Plan::forward(settings, target, headers);
    plan.usage = usage;
    Decision::Forward(Box::new(plan))
}

/// Where a request goes by its path and method.
fn route(settings: &Settings, path: &str, query: Option<&str>, method: &str) -> Result<Target, Reply> {
    let Some(policy) = &settings.policy else {
        log_errors(settings, LB_POLICY_JSON);
        return Err(Reply::misconfigured_policy());
    };
    match policy.routes.look_up(path, query, method) {
        Lookup::Unknown => Err(Reply::not_forwarded(path)),
        Lookup::OtherMethod(allowed) => Err(Reply::method_not_allowed(path, allowed)),
        Lookup::Found(target) => Ok(target),
    }
}

/// A document may break more rules than anyone reads for each request: `check` tells them all.
const MOST_LOGGED: usize = 10;

fn log_errors(settings: &Settings, key: &'static str) {
    settings.errors_of(key).take(MOST_LOGGED).for_each(|error| Event::Misconfigured(error).emit());
}

/// Path and query as received. A fragment has no place in a request target (RFC 9112 section 3.2)
/// and is cut off, as hosts and URL parsers do. `*` (RFC 9112 section 3.2.4) is no path and stays
/// itself.
fn split(path_with_query: Option<&str>) -> (&str, Option<&str>) {
    let target = path_with_query.unwrap_or_default();
    let target = target.split_once('#').map_or(target, |(before, _)| before);
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    (if path.is_empty() { "/" } else { path }, query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: &str) -> Settings {
        Settings::from_vars(|name| (name == "BACKEND_ORIGINS_JSON").then(|| json.to_owned()))
    }

    fn decide<'s>(
        settings: &'s Settings,
        method: &str,
        target: Option<&str>,
        scheme: Scheme,
        host: &str,
    ) -> Decision<'s> {
        admit(
            settings,
            RequestHead {
                method,
                path_with_query: target,
                scheme: Some(scheme),
                authority: Some(host),
                headers: Headers::default(),
                peer: None,
            },
        )
        .counted(|_| panic!("nothing is limited here"))
    }

    fn status(decision: &Decision<'_>) -> u16 {
        match decision {
            Decision::Reply(reply) => reply.status,
            Decision::Health(_) => 1,
            Decision::Forward(_) => 2,
        }
    }

    #[test]
    fn the_steps_come_in_the_order_of_the_contract() {
        let bad = settings("{");
        let good = settings(r#"["https://a.example"]"#);
        for (settings, method, target, scheme, host, expected) in [
            (&bad, "GET", "/nope", Scheme::Http, "a b", 400),
            (&bad, "GET", "/healthz-worker", Scheme::Http, "a", 308),
            (&bad, "BREW", "/nope", Scheme::Http, "a", 308),
            (&bad, "GET", "/healthz-worker", Scheme::Https, "a", 1),
            (&bad, "PUT", "/nope", Scheme::Https, "a", 404),
            (&bad, "PUT", "/ready", Scheme::Https, "a", 405),
            (&bad, "GET", "/ready", Scheme::Https, "a", 503),
            (&good, "GET", "/ready", Scheme::Https, "a", 2),
        ] {
            let decision = decide(settings, method, Some(target), scheme, host);
            assert_eq!(status(&decision), expected, "{method} {target}");
        }
    }

    #[test]
    fn where_the_host_hides_authority_and_scheme_only_the_terminator_can_say_https() {
        let decide = |trust: &str, proto: &str| {
            let settings = Settings::from_vars(|name| match name {
                "LB_TRUST_FORWARDED_PROTO" => Some(trust.to_owned()),
                _ => None,
            });
            let headers = Headers::from([("x-forwarded-proto", proto)]);
            let head = RequestHead {
                method: "GET",
                path_with_query: Some("/nope"),
                scheme: None,
                authority: None,
                headers,
                peer: None,
            };
            status(&admit(&settings, head).counted(|_| panic!("nothing is limited here")))
        };
        assert_eq!(decide("1", "https"), 404);
        assert_eq!(decide("1", "http"), 400);
        assert_eq!(decide("0", "https"), 400);
    }

    #[test]
    fn an_absent_or_empty_path_is_the_root() {
        for (target, expected) in [
            (None, "https://a/"),
            (Some(""), "https://a/"),
            (Some("?x=1"), "https://a/?x=1"),
            (Some("/r?"), "https://a/r?"),
            (Some("*"), "https://a/"),
            (Some("//evil.example/x?y?z#f"), "https://a//evil.example/x?y?z"),
        ] {
            let settings = settings("");
            let Decision::Reply(reply) = decide(&settings, "GET", target, Scheme::Http, "A") else {
                panic!()
            };
            let location = reply.headers.iter().find(|(name, _)| name == "location").unwrap();
            assert_eq!(std::str::from_utf8(&location.1).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_forwarded_is_the_literal_and_the_query_as_received() {
        let settings = settings(r#"["https://a.example"]"#);
        let Decision::Forward(plan) = decide(&settings, "GET", Some("/ready?%20&a"), Scheme::Https, "a")
        else {
            panic!()
        };
        assert_eq!(plan.target.path_with_query(), "/ready?%20&a");
    }
}
