//! The marker of a redirect that the policy follows. The role behind the router writes it on the
//! response; Envoy's router copies it to the request that it makes of it; the role in front reads
//! it there, or on the response, when the router did not follow after all.

use messageweave_lb::policy::method::Method;
use messageweave_lb::policy::origin::Origin;

/// Where a followed redirect came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The origin that answered with it.
    pub origin: Origin,
    /// The method to which it did.
    pub method: Method,
    /// The status that it had.
    pub status: u16,
    /// The location that it had.
    pub location: Vec<u8>,
}

impl Marker {
    /// `<origin> <method> <status> <location>`
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} {} ", self.origin, self.method, self.status).into_bytes();
        bytes.extend_from_slice(&self.location);
        bytes
    }

    /// Reads it back; nothing from anything else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.splitn(4, |byte| *byte == b' ');
        let mut text = || std::str::from_utf8(parts.next()?).ok();
        let (origin, name, status) = (text()?, text()?, text()?);
        Some(Self {
            origin: Origin::parse(origin).ok()?,
            method: Method::named(name)?,
            status: status.parse().ok().filter(|status| (300..400).contains(status))?,
            location: parts.next()?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_survives_its_way_through_envoy() {
        let marker = Marker {
            origin: Origin::parse("https://a.example:8443").unwrap(),
            method: Method::Post,
            status: 302,
            location: b" /x y\xff".to_vec(),
        };
        assert_eq!(Marker::decode(&marker.encode()), Some(marker));
    }

    #[test]
    fn anything_else_is_no_marker() {
        for bytes in [
            "",
            "https://a.example",
            "https://a.example GET 302",
            "http://a GET 302 /",
            "https://a TRACE 302 /",
            "https://a GET 100 /",
            "https://a GET 400 /",
        ] {
            assert_eq!(Marker::decode(bytes.as_bytes()), None, "{bytes}");
        }
    }
}
