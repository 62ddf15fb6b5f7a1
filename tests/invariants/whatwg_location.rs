//! The redirect rule beside the URL standard's resolver: a GET is sent exactly where the standard
//! resolves `location` to, but for the listed differences (contract 2.7). `fuzz/README.md` says why
//! each is there. The first byte of an input chooses the current URL, the rest is the field's value.

use super::draws::Draws;
use super::whatwg_origin::{canonical, is_resolvable};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::method::Method;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{Redirected, follow};
use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr};
use url::{Host, SyntaxViolation, Url};

/// Where the standard resolves and the policy does not follow; the last two are followed, and what is
/// sent is not all of what the standard resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    NotUtf8,
    ControlByte,
    Backslash,
    Empty,
    OtherScheme,
    Credentials,
    TooLong,
    UnresolvableName,
    PortZero,
    Local,
    TrailingDot,
    Fragment,
}

impl Difference {
    pub(crate) const ALL: [Self; 12] = [
        Self::NotUtf8,
        Self::ControlByte,
        Self::Backslash,
        Self::Empty,
        Self::OtherScheme,
        Self::Credentials,
        Self::TooLong,
        Self::UnresolvableName,
        Self::PortZero,
        Self::Local,
        Self::TrailingDot,
        Self::Fragment,
    ];

    const fn is_followed(self) -> bool {
        matches!(self, Self::TrailingDot | Self::Fragment)
    }

    fn holds(self, value: &[u8], url: &Url, has_at: bool) -> bool {
        match self {
            Self::NotUtf8 => std::str::from_utf8(value).is_err(),
            Self::ControlByte => value.iter().any(|byte| *byte < 0x20 || *byte == 0x7f),
            Self::Backslash => value.contains(&b'\\'),
            Self::Empty => value.iter().all(|byte| *byte == b' '),
            Self::OtherScheme => url.scheme() != "https",
            Self::Credentials => has_at,
            // What the `http` crate can hold of a target.
            Self::TooLong => url.as_str().len() > 65_534,
            Self::UnresolvableName => url.domain().is_some_and(|name| !is_resolvable(name)),
            Self::PortZero => url.port() == Some(0),
            Self::Local => is_local(url) && !CONFIGURED.contains(&canonical(url).as_str()),
            Self::TrailingDot => url.domain().is_some_and(|name| name.ends_with('.')),
            Self::Fragment => url.fragment().is_some(),
        }
    }
}

const CONFIGURED: [&str; 4] =
    ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9443", "https://[::1]"];
const CURRENT: [(&str, &str); 5] = [
    ("https://a.example", "/ready?a=1"),
    ("https://b.example:8443", "/a/b/../c"),
    ("https://127.0.0.1:9443", "/"),
    ("https://[::1]", "/a//b?"),
    ("https://elsewhere.example", "/%2e%2E/c;d?x#"),
];

/// Compares, and tells which difference it was that decided.
pub(crate) fn check(data: &[u8]) -> Option<Difference> {
    let mut draws = Draws::new(data);
    let (origin, path_with_query) = draws.pick(&CURRENT);
    let value = draws.rest();
    let sent = sent(origin, path_with_query, value);
    let text = String::from_utf8_lossy(value);
    let current = Url::parse(&[origin, path_with_query].concat()).expect("a URL");
    // Empty user information is none in the URL; the parser says that there was an `@`.
    let has_at = Cell::new(false);
    let note = |violation| has_at.set(has_at.get() || violation == SyntaxViolation::EmbeddedCredentials);
    let resolved =
        Url::options().base_url(Some(&current)).syntax_violation_callback(Some(&note)).parse(&text);
    let Ok(url) = resolved else {
        assert_eq!(sent, None, "{text:?} does not resolve");
        return None;
    };
    let difference =
        Difference::ALL.into_iter().find(|difference| difference.holds(value, &url, has_at.get()));
    if difference.is_none_or(Difference::is_followed) {
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        assert_eq!(sent, Some([&canonical(&url), url.path(), &query].concat()), "{text:?}");
    } else {
        assert_eq!(sent, None, "{text:?}: {difference:?}");
    }
    difference
}

/// Where the policy sends a GET, path and query included.
fn sent(origin: &str, path_with_query: &str, value: &[u8]) -> Option<String> {
    let configured: Vec<_> = CONFIGURED.iter().map(|text| Origin::parse(text).expect("an origin")).collect();
    let origin = Origin::parse(origin).expect("an origin");
    let headers = Headers::default();
    let request = Redirected {
        origin: &origin,
        path_with_query,
        method: Method::Get,
        headers: &headers,
        body: false,
        replayable: true,
    };
    let response = Headers::new(vec![("location".to_owned(), value.to_vec())]);
    let hop = follow(307, &response, request, &configured)?;
    Some([hop.target.origin().as_str(), hop.target.path_with_query()].concat())
}

/// Networks that mean this machine or a private network (RFC 6890, RFC 5771).
const LOCAL_V4: [([u8; 4], u32); 9] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    ([224, 0, 0, 0], 4),
    ([255, 255, 255, 255], 32),
];
/// RFC 4291, RFC 4193, and the site-local ones of old.
const LOCAL_V6: [(&str, u32); 4] = [("fc00::", 7), ("fe80::", 10), ("fec0::", 10), ("ff00::", 8)];
/// Networks whose addresses hold one of IPv4, with its distance from the right: compatible, mapped,
/// translated (RFC 2765), NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056).
const EMBEDDED: [(&str, u32, u32); 6] = [
    ("::", 96, 0),
    ("::ffff:0:0", 96, 0),
    ("::ffff:0:0:0", 96, 0),
    ("64:ff9b::", 48, 0),
    ("64:ff9b:1::", 48, 0),
    ("2002::", 16, 80),
];

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let labels = name.strip_suffix('.').unwrap_or(name).rsplit('.');
            labels.take(1).any(|last| last == "localhost")
        }
        Some(Host::Ipv4(address)) => is_local_v4(address),
        Some(Host::Ipv6(address)) => is_local_v6(address),
        None => true,
    }
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let within = |(network, length): ([u8; 4], u32)| {
        (address.to_bits() ^ Ipv4Addr::from(network).to_bits()).leading_zeros() >= length
    };
    LOCAL_V4.into_iter().any(within)
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    let within = |network: &str, length: u32| {
        let network: Ipv6Addr = network.parse().expect("an address");
        (address.to_bits() ^ network.to_bits()).leading_zeros() >= length
    };
    let embedded = |(network, length, shift): (&str, u32, u32)| {
        let inner = Ipv4Addr::from_bits((address.to_bits() >> shift) as u32);
        within(network, length) && is_local_v4(inner)
    };
    LOCAL_V6.into_iter().any(|(network, length)| within(network, length))
        || EMBEDDED.into_iter().any(embedded)
}
