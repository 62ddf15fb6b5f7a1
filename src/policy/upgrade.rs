//! Upgrade to https: how a request arrived (contract 2.2).

use super::headers::Headers;
use super::settings::Settings;

/// The scheme by which a host says that a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain http.
    Http,
    /// https.
    Https,
}

/// Whether the request arrived over https.
///
/// The host's scheme decides; none reported is http. Where the operator vouches for a TLS
/// terminator in front, the first item of the first `x-forwarded-proto` line decides instead, and
/// anything but `https` there is http.
#[must_use]
pub fn arrived_over_https(settings: &Settings, scheme: Option<Scheme>, headers: &Headers) -> bool {
    if settings.trust_forwarded_proto
        && let Some(forwarded) = headers.first("x-forwarded-proto")
    {
        let first = forwarded.split(|&byte| byte == b',').next();
        return first.is_some_and(|item| item.trim_ascii().eq_ignore_ascii_case(b"https"));
    }
    scheme == Some(Scheme::Https)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(trust: &str) -> Settings {
        Settings::from_vars(|name| (name == "LB_TRUST_FORWARDED_PROTO").then(|| trust.to_owned()))
    }

    #[test]
    fn the_hosts_scheme_decides_where_nothing_is_trusted() {
        let headers = Headers::from([("x-forwarded-proto", "https")]);
        assert!(!arrived_over_https(&settings("0"), None, &headers));
        assert!(!arrived_over_https(&settings("0"), Some(Scheme::Http), &headers));
        assert!(arrived_over_https(&settings("0"), Some(Scheme::Https), &headers));
    }

    #[test]
    fn the_first_item_of_the_first_line_decides_where_it_is_trusted() {
        for (value, https) in [
            ("https", true),
            (" HTTPS ", true),
            ("https,http", true),
            ("https , http", true),
            ("http,https", false),
            ("", false),
            (",https", false),
            ("wss", false),
        ] {
            let headers = Headers::from([("x-forwarded-proto", value), ("x-forwarded-proto", "https")]);
            for scheme in [None, Some(Scheme::Http), Some(Scheme::Https)] {
                assert_eq!(arrived_over_https(&settings("1"), scheme, &headers), https, "{value:?}");
            }
        }
    }

    #[test]
    fn the_hosts_scheme_stands_where_the_trusted_field_is_absent() {
        let headers = Headers::default();
        assert!(arrived_over_https(&settings("1"), Some(Scheme::Https), &headers));
        assert!(!arrived_over_https(&settings("1"), None, &headers));
    }
}
