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
mod tests;
