//! Contract 2.7 seen from outside: where no hop may go, and what may not travel there. Written
//! against the standard library's view of addresses, not the policy's.

use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::origin::Origin;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

pub(crate) const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
const PUBLIC: [&str; 5] = ["accept", "accept-language", "accept-encoding", "user-agent", "range"];

/// A hop from one origin to another is allowed to be made at all.
pub(crate) fn assert_passable(to: &Origin, configured: &[Origin]) {
    let url = Url::parse(to.as_str()).expect("an origin is a URL");
    assert_eq!(url.scheme(), "https");
    assert_eq!(url.origin().ascii_serialization(), to.as_str(), "one canonical form");
    assert!(url.username().is_empty() && url.password().is_none(), "no credentials in {to}");
    if configured.contains(to) {
        return;
    }
    match url.host().expect("a host") {
        Host::Domain(name) => {
            assert!(name != "localhost" && !name.ends_with(".localhost"), "{to} is this machine");
        }
        Host::Ipv4(address) => assert!(is_public(IpAddr::V4(address)), "{to} is not public"),
        Host::Ipv6(address) => assert!(is_public(IpAddr::V6(address)), "{to} is not public"),
    }
}

/// A hop takes along only what may travel between those two origins.
pub(crate) fn assert_travels(
    from: &Origin,
    to: &Origin,
    headers: &Headers,
    body: bool,
    configured: &[Origin],
) {
    let names = || headers.as_slice().iter().map(|(name, _)| name.as_str());
    if from != to {
        assert!(!names().any(|name| CREDENTIALS.contains(&name)), "credentials to {to}");
    }
    if !configured.contains(to) {
        assert!(!body, "a body to {to}");
        let public = |name: &str| PUBLIC.contains(&name) || name.starts_with("if-");
        assert!(names().all(public), "private fields to {to}");
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let shared = u32::from(address) & 0xffc0_0000 == 0x6440_0000;
    !(shared
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_unspecified())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let mapped_is_public = address.to_ipv4_mapped().is_none_or(is_public_v4);
    mapped_is_public
        && !(address.is_loopback()
            || address.is_unique_local()
            || address.is_unicast_link_local()
            || address.is_multicast()
            || address.is_unspecified())
}
