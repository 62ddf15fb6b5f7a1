//! The parser of origins beside the URL standard's: one verdict and one form, but for the listed
//! differences (contract 2.4). `fuzz/README.md` says why each is there.

use messageweave_lb::policy::origin::{Origin, OriginRule};
use url::{Host, Url};

/// Where the standard takes a text for an https URL and the policy refuses it for an origin, in the
/// order in which the policy looks; the last two are taken, and differ in their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    ControlByte,
    Backslash,
    OtherScheme,
    Slashes,
    Credentials,
    Path,
    Query,
    Fragment,
    UnresolvableName,
    PortZero,
    UnicodeBlank,
    TrailingDot,
}

impl Difference {
    pub(crate) const ALL: [Self; 12] = [
        Self::ControlByte,
        Self::Backslash,
        Self::OtherScheme,
        Self::Slashes,
        Self::Credentials,
        Self::Path,
        Self::Query,
        Self::Fragment,
        Self::UnresolvableName,
        Self::PortZero,
        Self::UnicodeBlank,
        Self::TrailingDot,
    ];

    /// What a refusal says; nothing where the text is taken.
    const fn rule(self) -> Option<OriginRule> {
        Some(match self {
            Self::ControlByte | Self::Backslash => OriginRule::ForbiddenByte,
            Self::OtherScheme | Self::Slashes => OriginRule::NotHttps,
            Self::Credentials => OriginRule::Credentials,
            Self::Path => OriginRule::Path,
            Self::Query => OriginRule::Query,
            Self::Fragment => OriginRule::Fragment,
            Self::UnresolvableName => OriginRule::Host,
            Self::PortZero => OriginRule::Port,
            Self::UnicodeBlank | Self::TrailingDot => return None,
        })
    }

    fn holds(self, text: &str, url: &Url) -> bool {
        let after = text.get("https://".len()..).unwrap_or_default();
        let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
        let path = after.strip_prefix(authority).unwrap_or_default();
        match self {
            Self::ControlByte => text.bytes().any(|byte| byte < 0x20 || byte == 0x7f),
            Self::Backslash => text.contains('\\'),
            Self::OtherScheme => url.scheme() != "https",
            Self::Slashes => {
                let slashes = text.get("https:".len()..).unwrap_or_default().chars();
                slashes.take_while(|char| *char == '/').count() != 2
            }
            Self::Credentials => authority.contains('@'),
            Self::Path => !matches!(path.split(['?', '#']).next(), Some("" | "/")),
            Self::Query => url.query().is_some(),
            Self::Fragment => url.fragment().is_some(),
            Self::UnresolvableName => url.domain().is_some_and(|name| !is_resolvable(name)),
            Self::PortZero => url.port() == Some(0),
            Self::UnicodeBlank => false,
            Self::TrailingDot => url.domain().is_some_and(|name| name.ends_with('.')),
        }
    }
}

/// Compares, and tells which difference it was that decided.
pub(crate) fn check(data: &[u8]) -> Option<Difference> {
    let text = std::str::from_utf8(data).ok()?;
    let ours = Origin::parse(text);
    let trimmed = text.trim();
    let Ok(url) = Url::parse(trimmed) else {
        assert!(ours.is_err(), "{text:?} is no URL, and was taken for {ours:?}");
        return None;
    };
    let difference = Difference::ALL.into_iter().find(|difference| difference.holds(trimmed, &url));
    match (difference, difference.and_then(Difference::rule)) {
        (_, Some(rule)) => assert_eq!(ours, Err(rule), "{text:?}: {difference:?}"),
        (_, None) => {
            let form = canonical(&url);
            assert_eq!(ours.as_ref().map(Origin::as_str), Ok(form.as_str()), "{text:?}");
        }
    }
    // The standard strips blanks of ASCII alone.
    let blanks = difference.is_none() && Url::parse(text).is_err();
    if blanks { Some(Difference::UnicodeBlank) } else { difference }
}

/// What the standard writes for the origin of a URL, without the dot at the end of a name.
pub(crate) fn canonical(url: &Url) -> String {
    let form = url.origin().ascii_serialization();
    let (host, port) = match url.port() {
        Some(port) => (form.strip_suffix(&format!(":{port}")).unwrap_or(&form), format!(":{port}")),
        None => (form.as_str(), String::new()),
    };
    let name = matches!(url.host(), Some(Host::Domain(_)));
    [if name { host.strip_suffix('.').unwrap_or(host) } else { host }, &port].concat()
}

/// RFC 1123 section 2.1 and RFC 1035 section 2.3.4, with the underscore of container networks.
pub(crate) fn is_resolvable(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label = |label: &str| !label.is_empty() && label.len() < 64 && label.bytes().all(is_byte);
    name.len() < 254 && name.split('.').all(is_label)
}
