//! Admission: what becomes of a request, decided by its head and the configuration alone
//! (contract 2.1). The order of the steps is the contract.

use super::authority::Authority;
use super::event::Event;
use super::headers::Headers;
use super::health::accept::Form;
use super::plan::Plan;
use super::reply::Reply;
use super::safelist::{self, Lookup, Target};
use super::settings::Settings;
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

/// Decides.
#[must_use]
pub fn admit<'s>(settings: &'s Settings, request: RequestHead<'_>) -> Decision<'s> {
    let hosts: Vec<_> = request.headers.all("host").collect();
    let authority = Authority::of_request(request.authority.map(str::as_bytes), &hosts);
    // A host that reports neither scheme nor authority nor Host keeps them to itself: then there is
    // nothing to judge, and nothing to build a 308 from.
    let is_hidden = request.scheme.is_none() && request.authority.is_none() && hosts.is_empty();
    let arrived_over_https = upgrade::arrived_over_https(settings, request.scheme, &request.headers);
    if authority.is_err() && !(is_hidden && arrived_over_https) {
        return Decision::Reply(Reply::malformed_host());
    }
    let (path, query) = split(request.path_with_query);
    if let Ok(authority) = authority
        && !arrived_over_https
    {
        // `OPTIONS *` has no path, and no URL could hold the asterisk.
        let path = if path.starts_with('/') { path } else { "/" };
        let rest = [path, query.map_or("", |_| "?"), query.unwrap_or_default()].concat();
        return Decision::Reply(Reply::upgrade(&authority, &rest));
    }
    let (route, method) = match safelist::look_up(path, request.method) {
        Lookup::Health => return Decision::Health(Form::preferred(&request.headers)),
        Lookup::Unknown => return Decision::Reply(Reply::not_forwarded(path)),
        Lookup::OtherMethod(allowed) => return Decision::Reply(Reply::method_not_allowed(path, allowed)),
        Lookup::Found(route, method) => (route, method),
    };
    if settings.origins().is_empty() {
        for error in settings.backend_errors() {
            Event::Misconfigured(error).emit();
        }
        return Decision::Reply(Reply::misconfigured());
    }
    let target = Target::new(route, method, query);
    Decision::Forward(Box::new(Plan::forward(settings, target, request.headers)))
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
            },
        )
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
            };
            status(&admit(&settings, head))
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
