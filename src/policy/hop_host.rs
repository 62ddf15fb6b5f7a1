//! Who may not be the host of a redirect hop unless the operator named it (contract 2.7): this machine
//! and private networks, by name or by address literal. Names are not resolved to check.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// `localhost`, or an address literal that means this machine or a private network.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => is_local_address(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_local_address(IpAddr::V6(address)),
        None => true,
    }
}

fn is_local_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_local_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) if !address.is_loopback() && !address.is_unspecified() => is_local_v4(inner),
            _ => is_local_v6(address),
        },
    }
}

/// Unspecified (0/8), loopback, RFC 1918, shared (100.64/10, RFC 6598), link-local, multicast and
/// broadcast.
fn is_local_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 0
        || (first == 100 && (64..128).contains(&second))
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        // Site-local, deprecated by RFC 3879 and still private where it is used.
        || address.segments().first().is_some_and(|first| first & 0xffc0 == 0xfec0)
}

/// The IPv4 address inside a mapped, compatible, translated (RFC 2765), NAT64 (RFC 6052, RFC 8215) or
/// 6to4 (RFC 3056) one.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let (high, low) = match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0 | 1, ..) => (high, low),
        (0x2002, ..) => (b, c),
        _ => return None,
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_local_host(url: &str) -> bool {
        is_local(&Url::parse(url).unwrap())
    }

    #[test]
    fn names_and_addresses_of_this_machine_and_of_private_networks_are_local() {
        let cases = [
            "https://localhost/",
            "https://LOCALHOST./",
            "https://x.localhost:1/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://10.1.2.3/",
            "https://172.16.0.1/",
            "https://192.168.0.1/",
            "https://100.64.0.0/",
            "https://100.127.255.255/",
            "https://169.254.169.254/",
            "https://224.0.0.1/",
            "https://0.0.0.0/",
            "https://255.255.255.255/",
            "https://[::1]/",
            "https://[::]/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "https://[ff02::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:a00:1]/",
            "https://[64:ff9b::a00:1]/",
            "https://[64:ff9b:1::a00:1]/",
            "https://[::ffff:0:127.0.0.1]/",
            "https://[fec0::1]/",
            "https://[2002:a00:1::]/",
        ];
        for url in cases {
            assert!(is_local_host(url), "{url}");
        }
    }

    #[test]
    fn what_lies_beside_them_is_not() {
        let cases = [
            "https://localhost.example/",
            "https://notlocalhost/",
            "https://8.8.8.8/",
            "https://9.255.255.255/",
            "https://11.0.0.0/",
            "https://100.63.255.255/",
            "https://100.128.0.0/",
            "https://172.15.255.255/",
            "https://172.32.0.0/",
            "https://192.167.255.255/",
            "https://[2001:db8::1]/",
            "https://[::ffff:8.8.8.8]/",
            "https://[2002:808:808::]/",
        ];
        for url in cases {
            assert!(!is_local_host(url), "{url}");
        }
    }
}
