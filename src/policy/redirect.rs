//! Redirects of a backend, followed as the Fetch standard's "HTTP-redirect fetch" does it and
//! fenced by contract 2.7: only https, never to this machine or a private network, and nothing of
//! the client's to a host that the operator did not name.

use super::headers::Headers;
use super::hop_host::is_local;
use super::method::Method;
use super::origin::Origin;
use url::{Position, Url};

/// The most hops of one attempt (Fetch standard); one more fails it.
pub const MAX_HOPS: u32 = 20;

/// The longest path and query of a hop, in bytes: what the `http` crate, and so most hosts, can hold.
const MAX_TARGET: usize = 65_534;

/// The fields that travel to a host that is not configured, besides the `if-*` conditions.
const PUBLIC_FIELDS: [&str; 5] = ["accept", "accept-encoding", "accept-language", "range", "user-agent"];

/// The fields that never leave the origin to which they were sent.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Where a redirect hop goes. Only this file can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HopTarget {
    origin: Origin,
    url: Url,
}

impl HopTarget {
    /// The origin, which need not be a configured one.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What is sent: path and query, without the fragment.
    #[must_use]
    pub fn path_with_query(&self) -> &str {
        #[allow(clippy::indexing_slicing, reason = "positions of a URL are always in range")]
        &self.url[Position::BeforePath..Position::AfterQuery]
    }
}

/// The request to which a redirect leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Where it goes.
    pub target: HopTarget,
    /// Its method.
    pub method: Method,
    /// Its header section.
    pub headers: Headers,
    /// Whether it carries the client's body.
    pub body: bool,
}

/// The request that was answered with a redirect.
#[derive(Debug, Clone, Copy)]
pub struct Redirected<'a> {
    /// The origin to which it was sent.
    pub origin: &'a Origin,
    /// The path and query that it asked for.
    pub path_with_query: &'a str,
    /// Its method.
    pub method: Method,
    /// Its header section.
    pub headers: &'a Headers,
    /// Whether it carried a body.
    pub body: bool,
    /// Whether that body can be sent again.
    pub replayable: bool,
}

/// The hop that follows from a response, or nothing when the response itself is the answer.
#[must_use]
pub fn follow(
    status: u16,
    response: &Headers,
    request: Redirected<'_>,
    configured: &[Origin],
) -> Option<Hop> {
    let url = resolve(status, response, request.origin, request.path_with_query)?;
    let origin = Origin::of_url(&url).ok()?;
    let known = configured.contains(&origin);
    if !known && is_local(&url) {
        return None;
    }
    let method = method_after(status, request.method);
    let body = request.body && method == request.method;
    if body && !(known && request.replayable) {
        return None;
    }
    let mut headers = request.headers.clone();
    if method != request.method {
        headers.retain(|name| !name.starts_with("content-"));
    }
    if origin != *request.origin {
        headers.retain(|name| !CREDENTIALS.contains(&name));
    }
    if !known {
        headers.retain(|name| PUBLIC_FIELDS.contains(&name) || name.starts_with("if-"));
    }
    Some(Hop { target: HopTarget { origin, url }, method, headers, body })
}

/// The same for a host that never leaves the configured origins: every other redirect is the answer.
#[must_use]
pub fn follow_configured(
    status: u16,
    response: &Headers,
    request: Redirected<'_>,
    configured: &[Origin],
) -> Option<Hop> {
    follow(status, response, request, configured).filter(|hop| configured.contains(hop.target.origin()))
}

/// Where a response leads, whether or not anybody may follow it there.
#[must_use]
pub fn leads_to(
    status: u16,
    response: &Headers,
    origin: &Origin,
    path_with_query: &str,
) -> Option<HopTarget> {
    let url = resolve(status, response, origin, path_with_query)?;
    Some(HopTarget { origin: Origin::of_url(&url).ok()?, url })
}

/// A usable `location`: one field, not empty, without the bytes that a URL parser drops or repairs.
fn location(response: &Headers) -> Option<&str> {
    let mut fields = response.all("location");
    let (Some(only), None) = (fields.next(), fields.next()) else {
        return None;
    };
    let text = std::str::from_utf8(only).ok()?.trim_matches(' ');
    let odd = |byte: u8| byte == b'\\' || byte.is_ascii_control();
    (!text.is_empty() && !text.bytes().any(odd) && !has_user_information(text)).then_some(text)
}

/// Whether an authority in it has an `@`, be the user information empty: the URL parser drops such a one
/// without a trace, and an origin that is spelt so is refused.
fn has_user_information(location: &str) -> bool {
    let behind_scheme = location.split_once(':').map_or(location, |(scheme, rest)| {
        // RFC 3986 section 3.1.
        let begins_well = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if begins_well && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            rest
        } else {
            location
        }
    });
    // A special scheme takes any number of slashes for two.
    let Some(authority) = behind_scheme.strip_prefix("//") else { return false };
    let authority = authority.trim_start_matches('/').split(['/', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

/// Resolves that of a redirect against the URL of the request; only https without credentials is followed, and only
/// as long as a host can send it.
fn resolve(status: u16, response: &Headers, origin: &Origin, path_with_query: &str) -> Option<Url> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = location(response)?;
    let current = [origin.as_str(), path_with_query].concat();
    let url = Url::parse(&current).ok()?.join(location).ok()?;
    let credentials = !url.username().is_empty() || url.password().is_some();
    let usable = url.scheme() == "https" && !credentials && url.as_str().len() <= MAX_TARGET;
    usable.then_some(url)
}

/// 303 on anything but HEAD, and a POST on 301 or 302, become GET; everything else keeps its method.
fn method_after(status: u16, method: Method) -> Method {
    match (status, method) {
        (303, Method::Head) => Method::Head,
        (303, _) | (301 | 302, Method::Post) => Method::Get,
        _ => method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins() -> Vec<Origin> {
        let texts = ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9443"];
        texts.iter().map(|text| Origin::parse(text).unwrap()).collect()
    }

    fn hop_from(method: Method, status: u16, to: &str) -> Option<Hop> {
        let headers = Headers::from([
            ("authorization", "Bearer x"),
            ("cookie", "a=b"),
            ("content-type", "text/plain"),
            ("content-length", "3"),
            ("accept", "*/*"),
            ("if-none-match", "\"1\""),
            ("x-telegram-bot-api-secret-token", "s"),
        ]);
        let origins = origins();
        let request = Redirected {
            origin: &origins[0],
            path_with_query: "/ready?a=1",
            method,
            headers: &headers,
            body: method.carries_body(),
            replayable: true,
        };
        follow(status, &Headers::from([("location", to)]), request, &origins)
    }

    fn bare<'a>(origin: &'a Origin, headers: &'a Headers, method: Method) -> Redirected<'a> {
        Redirected { origin, path_with_query: "/", method, headers, body: false, replayable: true }
    }

    fn url(to: &str) -> Option<String> {
        let hop = hop_from(Method::Get, 307, to)?;
        Some([hop.target.origin().as_str(), hop.target.path_with_query()].concat())
    }

    #[test]
    fn a_location_is_resolved_against_the_current_url() {
        let cases = [
            ("/x", "https://a.example/x"),
            ("x?y#z", "https://a.example/x?y"),
            ("?b=2", "https://a.example/ready?b=2"),
            ("//b.example:8443/x", "https://b.example:8443/x"),
            ("https://c.example./x", "https://c.example/x"),
            ("HTTPS://C.example:443", "https://c.example/"),
            ("/a/../b", "https://a.example/b"),
            ("https://127.0.0.1:9443/", "https://127.0.0.1:9443/"),
            ("https://8.8.8.8/", "https://8.8.8.8/"),
            ("https://100.63.255.255/", "https://100.63.255.255/"),
            ("https://100.128.0.0/", "https://100.128.0.0/"),
            ("/p%C3%A9 q", "https://a.example/p%C3%A9%20q"),
            ("/x/@y", "https://a.example/x/@y"),
            ("x@y", "https://a.example/x@y"),
            ("https:@y", "https://a.example/@y"),
            ("://@y", "https://a.example/://@y"),
            ("1a://@y", "https://a.example/1a://@y"),
            ("//b.example:8443/@x?@#@", "https://b.example:8443/@x?@"),
            ("https://c.example?@", "https://c.example/?@"),
        ];
        for (to, expected) in cases {
            assert_eq!(url(to).as_deref(), Some(expected), "{to:?}");
        }
    }

    #[test]
    fn what_must_not_be_followed_is_not() {
        let cases = [
            "",
            "http://a.example/",
            "ftp://a.example/",
            "https://u:p@c.example/",
            "https://u@c.example/",
            "https://@c.example/",
            "https://:@c.example/",
            "//@b.example:8443/x",
            "https:///@b.example:8443/x",
            "HTTPS://@b.example:8443?x",
            "https://localhost/",
            "https://10.1.2.3/",
            "https://[::1]/",
            "https://a!b.example/",
            "https://*.example/",
            "https://c.example\\@d.example/",
            "/a\\b",
            "https://c.exa\tmple/",
            "https://c.example:0/",
            "https://c.example:99999/",
            "https://",
            "javascript:1",
        ];
        for to in cases {
            assert_eq!(url(to), None, "{to:?}");
        }
    }

    #[test]
    fn a_location_that_no_host_could_send_is_not_usable() {
        let path = |length: usize| format!("/{}", "a".repeat(length - "https://a.example/".len()));
        assert!(hop_from(Method::Get, 302, &path(MAX_TARGET)).is_some());
        assert_eq!(hop_from(Method::Get, 302, &path(MAX_TARGET + 1)), None);
        assert_eq!(hop_from(Method::Get, 302, &format!("https://{}.example/", "a".repeat(64))), None);
    }

    #[test]
    fn a_missing_or_repeated_location_is_not_usable() {
        let (origins, headers) = (origins(), Headers::default());
        let request = bare(&origins[0], &headers, Method::Get);
        let twice = Headers::from([("location", "/a"), ("location", "/b")]);
        assert_eq!(follow(302, &twice, request, &origins), None);
        assert_eq!(follow(302, &Headers::default(), request, &origins), None);
        let not_utf8 = Headers::new(vec![("location".to_owned(), b"/\xff".to_vec())]);
        assert_eq!(follow(302, &not_utf8, request, &origins), None);
    }

    #[test]
    fn the_method_and_the_body_change_as_in_the_fetch_standard() {
        use Method::{Delete, Get, Head, Options, Patch, Post, Put};
        let cases = [
            (Post, 301, Get, false),
            (Post, 302, Get, false),
            (Post, 303, Get, false),
            (Post, 307, Post, true),
            (Post, 308, Post, true),
            (Put, 301, Put, true),
            (Put, 302, Put, true),
            (Put, 303, Get, false),
            (Get, 301, Get, false),
            (Get, 303, Get, false),
            (Get, 308, Get, false),
            (Head, 301, Head, false),
            (Head, 303, Head, false),
            (Head, 307, Head, false),
            (Patch, 302, Patch, true),
            (Patch, 303, Get, false),
            (Delete, 301, Delete, true),
            (Delete, 303, Get, false),
            (Options, 302, Options, true),
            (Options, 308, Options, true),
        ];
        for (method, status, then, body) in cases {
            let hop = hop_from(method, status, "/x").unwrap();
            assert_eq!((hop.method, hop.body), (then, body), "{method} {status}");
            let content = hop.headers.first("content-type").is_some();
            assert_eq!(content, method == then, "{method} {status}");
        }
        for status in [300, 304, 305, 306, 200, 399] {
            assert_eq!(hop_from(Get, status, "/x"), None, "{status}");
        }
    }

    #[test]
    fn credentials_stay_at_their_origin() {
        let same = hop_from(Method::Get, 302, "/x").unwrap();
        assert!(same.headers.first("authorization").is_some());
        let other = hop_from(Method::Get, 302, "https://b.example:8443/").unwrap();
        for name in CREDENTIALS {
            assert_eq!(other.headers.first(name), None);
        }
        assert!(other.headers.first("x-telegram-bot-api-secret-token").is_some());
    }

    #[test]
    fn a_host_that_is_not_configured_gets_no_body_and_no_private_field() {
        assert_eq!(hop_from(Method::Post, 307, "https://c.example/"), None);
        let hop = hop_from(Method::Post, 303, "https://c.example/").unwrap();
        let names: Vec<_> = hop.headers.as_slice().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "if-none-match"]);
    }

    #[test]
    fn a_host_that_stays_with_the_configured_origins_follows_only_to_them() {
        let (origins, headers) = (origins(), Headers::default());
        let request = bare(&origins[0], &headers, Method::Get);
        let to = |location| {
            let response = Headers::from([("location", location)]);
            follow_configured(302, &response, request, &origins).is_some()
        };
        assert!(to("/x") && to("https://b.example:8443/x"));
        assert!(!to("https://b.example/x") && !to("https://c.example/x"));
    }

    #[test]
    fn a_body_that_cannot_be_replayed_makes_the_redirect_the_answer() {
        let (origins, headers) = (origins(), Headers::default());
        let request =
            Redirected { body: true, replayable: false, ..bare(&origins[0], &headers, Method::Post) };
        let response = Headers::from([("location", "/x")]);
        assert_eq!(follow(307, &response, request, &origins), None);
        assert!(follow(303, &response, request, &origins).is_some());
    }
}
