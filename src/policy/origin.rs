//! A fixed https origin: what the operator may write, and its one canonical form
//! (contract 2.4; RFC 6454; the URL standard's parser).

use std::fmt;
use url::{Host, Url};

/// An https origin that passed the parser: `https://host[:port]`, lower case, IDN as A-labels,
/// no default port, no trailing dot. Nothing else can make one, so every origin is fit to be sent to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin(String);

const SCHEME: &str = "https://";

/// The rule that an origin broke. It never holds the text: that may carry a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginRule {
    /// The entry is an object, a number or the like.
    NotAString,
    /// A backslash, or a control byte such as a tab or a newline.
    ForbiddenByte,
    /// It does not start with `https://` and a host.
    NotHttps,
    /// A user name, a password or a bare `@`.
    Credentials,
    /// More path than a lone `/`.
    Path,
    /// A query, even an empty one.
    Query,
    /// A fragment, even an empty one.
    Fragment,
    /// A port outside 1-65535.
    Port,
    /// No host, or one that is no domain and no address.
    Host,
}

impl fmt::Display for OriginRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAString => "an origin is a JSON string",
            Self::ForbiddenByte => "an origin has no backslash, tab, newline or other control byte",
            Self::NotHttps => "an origin starts with https:// and a host",
            Self::Credentials => "an origin carries no credentials",
            Self::Path => "an origin has no path",
            Self::Query => "an origin has no query",
            Self::Fragment => "an origin has no fragment",
            Self::Port => "the port of an origin is a number from 1 to 65535",
            Self::Host => "the host of an origin is a domain name or an IP address",
        })
    }
}

impl Origin {
    /// Reads an origin as an operator writes it; blanks around it are ignored.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, OriginRule> {
        let text = text.trim();
        if text.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control()) {
            return Err(OriginRule::ForbiddenByte);
        }
        check_shape(text)?;
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::InvalidPort => OriginRule::Port,
            _ => OriginRule::Host,
        })?;
        Self::of_url(&url)
    }

    /// The origin of a URL that is known to be https and free of credentials.
    pub(super) fn of_url(url: &Url) -> Result<Self, OriginRule> {
        let host = match url.host().ok_or(OriginRule::Host)? {
            Host::Domain(name) => domain(name)?.to_owned(),
            address => address.to_string(),
        };
        match url.port() {
            Some(0) => Err(OriginRule::Port),
            Some(port) => Ok(Self(format!("{SCHEME}{host}:{port}"))),
            None => Ok(Self(format!("{SCHEME}{host}"))),
        }
    }

    /// `https://host[:port]`
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `host[:port]`, as in the Host field.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.strip_prefix(SCHEME).unwrap_or_default()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Judges the text itself, before the URL parser repairs it (`https:/host`, `https://host/.`).
fn check_shape(text: &str) -> Result<(), OriginRule> {
    let rest = match text.split_at_checked(SCHEME.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => rest,
        _ => return Err(OriginRule::NotHttps),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    if authority.contains('@') {
        return Err(OriginRule::Credentials);
    }
    if authority.is_empty() {
        return Err(OriginRule::NotHttps);
    }
    let before_fragment = after.split('#').next().unwrap_or_default();
    let path = before_fragment.split('?').next().unwrap_or_default();
    match after {
        "" | "/" => Ok(()),
        _ if !matches!(path, "" | "/") => Err(OriginRule::Path),
        _ if before_fragment != path => Err(OriginRule::Query),
        _ => Err(OriginRule::Fragment),
    }
}

/// The longest name and the longest label, in bytes (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A domain without its trailing dot. The URL standard lets through what no resolver, certificate
/// or Host field takes (`a!b`, `*.example`, `a,b`); here a label is letters, digits, hyphens and
/// underscores (RFC 1123 section 2.1, and the underscore of container networks).
fn domain(name: &str) -> Result<&str, OriginRule> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_label_byte);
    match name.len() <= MAX_NAME && name.split('.').all(is_label) {
        true => Ok(name),
        false => Err(OriginRule::Host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_origins_have_one_canonical_form() {
        let cases = [
            ("https://example.com", "https://example.com"),
            (" https://EXAMPLE.com/ ", "https://example.com"),
            ("HTTPS://example.com:443", "https://example.com"),
            ("https://example.com:8443", "https://example.com:8443"),
            ("https://example.com./", "https://example.com"),
            ("https://b\u{fc}cher.example", "https://xn--bcher-kva.example"),
            ("https://[::1]", "https://[::1]"),
            ("https://[2001:DB8:0::1]:8443", "https://[2001:db8::1]:8443"),
            ("https://127.0.0.1:9443", "https://127.0.0.1:9443"),
            ("https://example.com:65535", "https://example.com:65535"),
        ];
        for (text, expected) in cases {
            assert_eq!(Origin::parse(text).map(|origin| origin.0), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn each_broken_rule_has_its_name() {
        use OriginRule::*;
        let cases = [
            ("", NotHttps),
            ("example.com", NotHttps),
            ("http://example.com", NotHttps),
            ("https:example.com", NotHttps),
            ("https:/example.com", NotHttps),
            ("https://", NotHttps),
            ("https:///example.com", NotHttps),
            ("https://user:pw@example.com", Credentials),
            ("https://@example.com", Credentials),
            ("https://example.com/api", Path),
            ("https://example.com//", Path),
            ("https://example.com/.", Path),
            ("https://example.com?", Query),
            ("https://example.com/?a=1", Query),
            ("https://example.com/#", Fragment),
            ("https://example.com#a", Fragment),
            ("https://example.com/#?", Fragment),
            ("https://example.com:abc", Port),
            ("https://example.com:65536", Port),
            ("https://example.com:0", Port),
            ("https://example.com\\@evil.example", ForbiddenByte),
            ("https://exa\tmple.com", ForbiddenByte),
            ("https://exa\nmple.com", ForbiddenByte),
            ("https://exa mple.com", Host),
            ("https://.", Host),
            ("https://a..b", Host),
            ("https://a!b.example", Host),
            ("https://*.example.com", Host),
            ("https://a.example,b.example", Host),
            ("https://${BACKEND}", Host),
            ("https://[::1", Host),
            ("https://1.2.3.4.5", Host),
        ];
        for (text, rule) in cases {
            assert_eq!(Origin::parse(text), Err(rule), "{text:?}");
        }
    }

    #[test]
    fn a_name_that_no_resolver_takes_is_refused() {
        let origin = |name: &str| Origin::parse(&format!("https://{name}"));
        let label = "a".repeat(63);
        let longest = [label.as_str(), &label, &label, &"a".repeat(61)].join(".");
        assert!(origin(&label).is_ok() && origin("_a-b.example").is_ok());
        assert_eq!(longest.len(), 253);
        assert!(origin(&longest).is_ok());
        assert_eq!(origin(&"a".repeat(64)), Err(OriginRule::Host));
        assert_eq!(origin(&[longest.as_str(), "a"].join(".")), Err(OriginRule::Host));
    }

    #[test]
    fn the_authority_keeps_a_port_and_brackets() {
        let origin = Origin::parse("https://[2001:db8::1]:8443").unwrap();
        assert_eq!(origin.authority(), "[2001:db8::1]:8443");
    }
}
