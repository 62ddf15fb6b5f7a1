//! The request's own authority: one well-formed `host[:port]` or a refusal
//! (contract 2.2; RFC 9110 section 7.2, RFC 9112 sections 3.2 and 3.2.2).

use std::fmt;
use std::net::Ipv6Addr;

/// A well-formed authority: host in lower case without a trailing dot, IPv6 in its brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    host: String,
    port: Option<u16>,
}

/// Host is missing, repeated or malformed: answered with `400`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedHost;

impl fmt::Display for MalformedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("missing, repeated or malformed host")
    }
}

impl std::error::Error for MalformedHost {}

impl Authority {
    /// The one authority of a request. In absolute form the target's authority wins over Host
    /// (RFC 9112 section 3.2.2), but a repeated or malformed Host is refused all the same.
    ///
    /// # Errors
    /// [`MalformedHost`] when Host is repeated, when there is no authority at all, or when one
    /// that is there is malformed.
    pub fn of_request(target: Option<&[u8]>, host_fields: &[&[u8]]) -> Result<Self, MalformedHost> {
        let host = match host_fields {
            [] => None,
            [one] => Some(Self::parse(one)?),
            _ => return Err(MalformedHost),
        };
        match target {
            Some(target) => Self::parse(target),
            None => host.ok_or(MalformedHost),
        }
    }

    /// The authority of the https URL to which a plain request is sent: port 80 is dropped.
    #[must_use]
    pub fn for_https(&self) -> String {
        match self.port {
            None | Some(80) => self.host.clone(),
            Some(port) => format!("{}:{port}", self.host),
        }
    }

    /// `uri-host [ ":" port ]` of RFC 3986 section 3.2, without user information.
    fn parse(bytes: &[u8]) -> Result<Self, MalformedHost> {
        let text = std::str::from_utf8(bytes).map_err(|_| MalformedHost)?;
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => split_literal(rest)?,
            None => split_name(text)?,
        };
        let port = match port {
            None | Some("") => None,
            Some(digits) => Some(parse_port(digits)?),
        };
        Ok(Self { host, port })
    }
}

/// `2001:db8::1]:8443` (the opening bracket is gone already).
fn split_literal(rest: &str) -> Result<(String, Option<&str>), MalformedHost> {
    let (address, after) = rest.split_once(']').ok_or(MalformedHost)?;
    address.parse::<Ipv6Addr>().map_err(|_| MalformedHost)?;
    let port = match after {
        "" => None,
        _ => Some(after.strip_prefix(':').ok_or(MalformedHost)?),
    };
    Ok((format!("[{}]", address.to_ascii_lowercase()), port))
}

/// `Example.com.:8443`; an empty label is no name, as nginx has it.
fn split_name(text: &str) -> Result<(String, Option<&str>), MalformedHost> {
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let whole_labels = !name.split('.').any(str::is_empty);
    if !whole_labels || !name.bytes().all(is_name_byte) || has_half_an_escape(name) {
        return Err(MalformedHost);
    }
    Ok((name.to_ascii_lowercase(), port))
}

/// `unreserved`, `sub-delims` and `%` of RFC 3986, without the comma: a host that joins repeated
/// Host lines puts one between them.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte)
}

/// A `%` that does not begin an escape (RFC 3986 section 2.1).
fn has_half_an_escape(name: &str) -> bool {
    let is_whole = |after: &str| {
        let digits = after.as_bytes().first_chunk::<2>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    !name.split('%').skip(1).all(is_whole)
}

fn parse_port(digits: &str) -> Result<u16, MalformedHost> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(MalformedHost);
    }
    digits.parse().map_err(|_| MalformedHost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn https(host: &str) -> Result<String, MalformedHost> {
        Authority::of_request(None, &[host.as_bytes()]).map(|authority| authority.for_https())
    }

    #[test]
    fn the_https_form_is_lower_case_without_port_80_or_a_trailing_dot() {
        let cases = [
            ("LB.Example", "lb.example"),
            ("lb.example:80", "lb.example"),
            ("lb.example:", "lb.example"),
            ("lb.example:8080", "lb.example:8080"),
            ("lb.example:443", "lb.example:443"),
            ("admin.example.com.", "admin.example.com"),
            ("admin.example.com.:8080", "admin.example.com:8080"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("[::1]:8443", "[::1]:8443"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("a%2Db", "a%2db"),
        ];
        for (host, expected) in cases {
            assert_eq!(https(host).as_deref(), Ok(expected), "{host}");
        }
    }

    #[test]
    fn a_malformed_host_is_refused() {
        let cases = [
            "",
            ".",
            ":80",
            "a b",
            "a/b",
            "a@b",
            "a?b",
            "a#b",
            "a\\b",
            "a,b",
            "a\tb",
            "a:b",
            "a:1:2",
            "a:65536",
            "a:+1",
            "[::1",
            "[::1]x",
            "[::1]:x",
            "[nope]",
            "::1",
            "b\u{fc}cher.example",
            "a\u{7f}",
            "..",
            "a..",
            "a..b",
            ".a",
            "a%",
            "a%2",
            "a%zz",
            "a%+1",
        ];
        for host in cases {
            assert_eq!(https(host), Err(MalformedHost), "{host:?}");
        }
        assert_eq!(Authority::of_request(None, &[b"\xff"]).map(|_| ()), Err(MalformedHost));
    }

    #[test]
    fn a_missing_or_repeated_host_is_refused() {
        assert!(Authority::of_request(None, &[]).is_err());
        assert!(Authority::of_request(None, &[b"a", b"a"]).is_err());
        assert!(Authority::of_request(Some(b"a"), &[b"a", b"b"]).is_err());
    }

    #[test]
    fn the_authority_of_an_absolute_target_wins_over_host() {
        let authority = Authority::of_request(Some(b"a"), &[b"b"]).unwrap();
        assert_eq!(authority.for_https(), "a");
        assert!(Authority::of_request(Some(b"a"), &[b"b c"]).is_err());
        assert!(Authority::of_request(Some(b"user@a"), &[b"b"]).is_err());
    }
}
