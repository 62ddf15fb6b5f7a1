//! The balancer's own answers, word for word (contract 2.1 to 2.4 and 2.6).
//!
//! Each is `text/plain; charset=utf-8` with `cache-control: no-store` and a framing of its own.

use super::authority::Authority;
use super::failure::Exhausted;
use super::headers::Field;
use super::limit::answer::Usage;
use super::method::Methods;

/// A complete answer of the balancer itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The header section, content-length included.
    pub headers: Vec<Field>,
    /// The body; left out by the host in answer to HEAD.
    pub body: Vec<u8>,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

impl Reply {
    /// `400`: no single well-formed Host.
    #[must_use]
    pub fn malformed_host() -> Self {
        Self::text(400, "malformed host")
    }

    /// `400`: the client's body broke off or was badly framed. Mostly nobody is there to read it.
    #[must_use]
    pub fn broken_body() -> Self {
        Self::text(400, "request body broke off")
    }

    /// `308` to the same path and query over https.
    #[must_use]
    pub fn upgrade(authority: &Authority, path_with_query: &str) -> Self {
        let location = ["https://", &authority.for_https(), path_with_query].concat();
        Self::text(308, "").with("location", &location)
    }

    /// `404`: the path has no route.
    #[must_use]
    pub fn not_forwarded(path: &str) -> Self {
        Self::text(404, &format!("route not forwarded: {path}"))
    }

    /// `405`: the path is known, the method is another.
    #[must_use]
    pub fn method_not_allowed(path: &str, allowed: Methods) -> Self {
        Self::text(405, &format!("method not allowed for {path}")).with("allow", &allowed.join(", "))
    }

    /// `408`: the client sent nothing of its body for too long.
    #[must_use]
    pub fn client_timeout() -> Self {
        Self::text(408, "timed out waiting for the request body")
    }

    /// `503`: there is no usable list of origins.
    #[must_use]
    pub fn misconfigured() -> Self {
        Self::text(503, "misconfigured backends")
    }

    /// `503`: the policy document is bad.
    #[must_use]
    pub fn misconfigured_policy() -> Self {
        Self::text(503, "misconfigured policy")
    }

    /// `503`: every attempt failed.
    #[must_use]
    pub fn exhausted(exhausted: &Exhausted<'_>) -> Self {
        Self::text(503, &exhausted.to_string())
    }

    /// The same, for a request of a limited route.
    #[must_use]
    pub fn with_usage(mut self, usage: Option<Usage>) -> Self {
        if let Some(usage) = usage {
            self.headers.extend(usage.fields());
        }
        self
    }

    /// The health view, or a refusal for programs.
    pub(super) fn json(status: u16, body: Vec<u8>) -> Self {
        Self::new(status, JSON, body)
    }

    /// The health view as a page, under that content security policy. It has no `vary`, and neither
    /// has the JSON: RFC 9110 section 12.5.5 is about answers that a cache may keep.
    pub(super) fn html(status: u16, policy: &str, body: Vec<u8>) -> Self {
        Self::new(status, HTML, body).with("content-security-policy", policy)
    }

    fn text(status: u16, body: &str) -> Self {
        Self::new(status, TEXT, body.as_bytes().to_vec())
    }

    fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let reply = Self { status, headers: Vec::new(), body };
        let length = reply.body.len().to_string();
        reply
            .with("content-type", content_type)
            .with("cache-control", "no-store")
            .with("content-length", &length)
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::method::Method;
    use super::*;

    fn header<'a>(reply: &'a Reply, name: &str) -> &'a str {
        let field = reply.headers.iter().find(|(known, _)| known == name);
        std::str::from_utf8(&field.unwrap().1).unwrap()
    }

    #[test]
    fn every_reply_is_plain_text_that_no_cache_keeps() {
        let reply = Reply::not_forwarded("/x");
        assert_eq!(header(&reply, "content-type"), "text/plain; charset=utf-8");
        assert_eq!(header(&reply, "cache-control"), "no-store");
        assert_eq!(header(&reply, "content-length"), "23");
        assert_eq!(reply.body, b"route not forwarded: /x");
    }

    #[test]
    fn a_405_lists_the_methods() {
        let reply = Reply::method_not_allowed("/api/config", Methods::only(Method::Get).and(Method::Put));
        assert_eq!(header(&reply, "allow"), "GET, PUT");
        assert_eq!(reply.body, b"method not allowed for /api/config");
    }
}
