//! Admission over any request head and any configuration (contract 2.1 to 2.5). An input is text:
//!
//! ```text
//! GET /ready?a=1
//! https lb.example          the scheme (http, https, anything else: unknown), the authority if any
//! ["https://a.example"]     BACKEND_ORIGINS_JSON
//! LB_MAX_ATTEMPTS=3         more variables, separated by blanks, LB_POLICY_JSON too
//! cookie: a=b               fields, to the end
//! ```

use super::path::{self, Row};
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::headers::{Field, HOP_BY_HOP, Headers};
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::safelist::HEALTH_PATH;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::upgrade::Scheme;

struct Input {
    method: String,
    target: Option<String>,
    scheme: Option<Scheme>,
    authority: Option<String>,
    fields: Vec<Field>,
    settings: Settings,
}

/// Whatever comes, only a path that a route of the policy takes goes out, over https, to a configured
/// origin.
pub(crate) fn check(data: &[u8]) {
    let input = Input::read(data);
    let head = RequestHead {
        method: &input.method,
        path_with_query: input.target.as_deref(),
        scheme: input.scheme,
        authority: input.authority.as_deref(),
        headers: Headers::new(input.fields.clone()),
        peer: None,
    };
    match admit(&input.settings, head).counted(|_| panic!("nothing is limited here")) {
        Decision::Forward(plan) => input.assert_forwarded(&plan),
        Decision::Health(_) => {
            assert_eq!((input.method.as_str(), input.path_and_query().0), ("GET", HEALTH_PATH));
            input.assert_https();
        }
        Decision::Reply(reply) => input.assert_replied(&reply),
    }
}

impl Input {
    fn read(data: &[u8]) -> Self {
        let mut lines = data.split(|byte| *byte == b'\n');
        let mut text = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        let (request, connection, origins, variables) = (text(), text(), text(), text());
        let (method, target) = match request.split_once(' ') {
            Some((method, target)) => (method.to_owned(), Some(target.to_owned())),
            None => (request, None),
        };
        let (scheme, authority) = match connection.split_once(' ') {
            Some((scheme, authority)) => (scheme, Some(authority.to_owned())),
            None => (connection.as_str(), None),
        };
        let scheme = match scheme {
            "https" => Some(Scheme::Https),
            "http" => Some(Scheme::Http),
            _ => None,
        };
        let settings = Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(origins.clone()),
            _ => {
                let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
                pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            }
        });
        Self { method, target, scheme, authority, fields: lines.filter_map(field).collect(), settings }
    }

    fn path_and_query(&self) -> (&str, Option<&str>) {
        let target = self.target.as_deref().unwrap_or_default();
        let target = target.split('#').next().unwrap_or_default();
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        (if path.is_empty() { "/" } else { path }, query)
    }

    fn row(&self) -> Option<Row<'_>> {
        path::row(&self.settings.policy.as_ref()?.routes, self.path_and_query().0)
    }

    /// The host's scheme, unless a terminator is trusted that speaks for itself.
    fn assert_https(&self) {
        let mut forwarded = self.fields.iter().filter(|(name, _)| name == "x-forwarded-proto");
        let https = match forwarded.next().filter(|_| self.settings.trust_forwarded_proto) {
            Some((_, value)) => {
                let item = value.split(|byte| *byte == b',').next().unwrap_or_default();
                item.trim_ascii().eq_ignore_ascii_case(b"https")
            }
            None => self.scheme == Some(Scheme::Https),
        };
        assert!(https, "plain http got past the upgrade");
    }

    fn assert_forwarded(&self, plan: &Plan<'_>) {
        self.assert_https();
        let (path, query) = self.path_and_query();
        let route = self.row().expect("a route of the policy");
        assert_eq!(plan.target.path(), path);
        assert_eq!(plan.target.method().as_str(), self.method);
        assert!(route.methods.contain(plan.target.method()));
        assert_eq!(plan.timeout, self.settings.timeout(route.bounds));
        let rest = query.map(|query| format!("?{query}")).unwrap_or_default();
        assert_eq!(plan.target.path_with_query(), format!("{path}{rest}"));

        assert_eq!(plan.origins, self.settings.origins());
        assert!(plan.origins.iter().all(|origin| origin.as_str().starts_with("https://")));
        assert!(1 <= plan.attempts && plan.attempts as usize <= plan.origins.len());
        assert!(plan.timeout.0 >= 1);

        let mut received = self.fields.iter();
        for field in plan.headers.as_slice() {
            let name = field.0.as_str();
            assert!(!HOP_BY_HOP.contains(&name) && !["host", "expect"].contains(&name), "{name} travels");
            assert!(!name.starts_with("spin-"), "{name} travels");
            assert!(name != "content-length" || plan.target.method().carries_body());
            assert!(received.any(|known| known == field), "{name} is not the client's, or out of order");
        }
    }

    fn assert_replied(&self, reply: &Reply) {
        let field = |name: &str| {
            let found = reply.headers.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| std::str::from_utf8(value).expect("our own fields are text"))
        };
        assert_eq!(field("cache-control"), Some("no-store"));
        assert_eq!(field("content-length"), Some(reply.body.len().to_string().as_str()));
        let (path, query) = self.path_and_query();
        match reply.status {
            308 => {
                let location = field("location").expect("a 308 says where to");
                let rest = location.strip_prefix("https://").expect("https");
                // `*` and the like are no path; next to the authority they would become part of it.
                let path = if path.starts_with('/') { path } else { "/" };
                let tail = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
                assert_authority(rest.strip_suffix(tail.as_str()).expect("path and query byte for byte"));
            }
            400 => assert_eq!(reply.body, b"malformed host"),
            404 => {
                assert_eq!(reply.body, format!("route not forwarded: {path}").into_bytes());
                assert!(path != HEALTH_PATH && self.row().is_none());
            }
            405 => {
                let allow = field("allow").expect("a 405 says what is allowed");
                assert!(!allow.split(", ").any(|method| method == self.method));
                assert!(path == HEALTH_PATH || self.row().is_some_and(|row| row.methods.join(", ") == allow));
            }
            503 if self.settings.policy.is_none() => assert_eq!(reply.body, b"misconfigured policy"),
            503 => {
                assert_eq!(reply.body, b"misconfigured backends");
                assert!(self.settings.origins().is_empty() && self.row().is_some());
            }
            status => panic!("no such reply: {status}"),
        }
    }
}

/// `uri-host [ ":" port ]` of RFC 3986, in lower case.
fn assert_authority(authority: &str) {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if let Some(port) = port {
        assert!(port.parse::<u16>().is_ok_and(|port| port != 80), "{authority}: a redundant port");
    }
    let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match literal {
        Some(address) => assert!(address.parse::<std::net::Ipv6Addr>().is_ok(), "{authority}"),
        None => {
            assert!(!host.is_empty() && !host.ends_with('.'), "{authority}: no host");
            let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte);
            assert!(host.bytes().all(fit), "{authority}: not an authority");
            assert_escapes(host);
        }
    }
    assert_eq!(authority, authority.to_ascii_lowercase());
}

/// Every `%` starts an escape.
fn assert_escapes(host: &str) {
    for escape in host.split('%').skip(1) {
        let digits = escape.as_bytes().get(..2).unwrap_or_default();
        assert!(digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit), "{host}: half an escape");
    }
}

fn field(line: &[u8]) -> Option<Field> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let name = std::str::from_utf8(&line[..at]).ok()?.to_ascii_lowercase();
    Some((name, line[at + 1..].trim_ascii().to_vec()))
}
