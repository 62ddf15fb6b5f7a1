//! The address of a client, as it is counted: an IPv4 address whole, an IPv6 address by its /64,
//! which is the least that one site is given (RFC 6177 section 2), an IPv4-mapped one (RFC 4291
//! section 2.5.5.2) as the IPv4 address that it is.
//!
//! Proxies write addresses bare, with a port, in brackets (RFC 3986 section 3.2.2) and with a zone
//! (RFC 4007 section 11): all are read. What is anything else is no address, and neither is a field
//! that occurs twice where a proxy in front should have overwritten it, or that `connection` nominates.

use super::super::headers::Headers;
use super::rule::ClientAddress;
use std::net::{Ipv4Addr, Ipv6Addr};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// What is counted of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// An IPv4 address.
    V4([u8; 4]),
    /// The /64 of an IPv6 address.
    V6Net([u8; 8]),
}

impl Address {
    /// The address of the client, by what the limit says of where it comes from; `connection` is
    /// that of the connection, where the host tells it.
    #[must_use]
    pub fn of_client(rule: &ClientAddress, headers: &Headers, connection: Option<&[u8]>) -> Option<Self> {
        match rule {
            ClientAddress::Connection => Self::parse(connection?),
            ClientAddress::Header(name) => Self::parse(headers.only(name)?),
            ClientAddress::ForwardedForHops(hops) => Self::parse(hop(headers, hops.get())?),
        }
    }

    /// Reads one address.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '\t']);
        if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let port_is_fine = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
            return if port_is_fine { v6(address) } else { None };
        }
        match text.split_once(':') {
            None => v4(text),
            Some((address, port)) if !port.contains(':') => is_port(port).then(|| v4(address)).flatten(),
            Some(_) => v6(text),
        }
    }
}

/// The n-th entry of `x-forwarded-for` from the right, over all its lines as one list (RFC 9110
/// section 5.2). Empty entries do not count (section 5.6.1.2). None at all where `connection` nominates it.
fn hop(headers: &Headers, from_the_right: u32) -> Option<&[u8]> {
    if headers.nominates(FORWARDED_FOR) {
        return None;
    }
    let entries = headers
        .all(FORWARDED_FOR)
        .flat_map(|line| line.split(|byte| *byte == b','))
        .filter(|entry| !entry.trim_ascii().is_empty());
    entries.rev().nth(usize::try_from(from_the_right).ok()?.checked_sub(1)?)
}

fn v4(text: &str) -> Option<Address> {
    Some(Address::V4(text.parse::<Ipv4Addr>().ok()?.octets()))
}

fn v6(text: &str) -> Option<Address> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    let address: Ipv6Addr = address.parse().ok()?;
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(Address::V4(mapped.octets()));
    }
    Some(Address::V6Net(address.octets().first_chunk().copied()?))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::num::NonZeroU32;

    const DB8: Address = Address::V6Net([0x20, 1, 0xd, 0xb8, 0, 0, 0, 7]);
    const FOUR: Address = Address::V4([1, 2, 3, 4]);

    #[test]
    fn an_address_is_read_in_every_spelling_of_proxies() {
        for text in [
            "1.2.3.4",
            " 1.2.3.4\t",
            "1.2.3.4:443",
            "::ffff:1.2.3.4",
            "::FFFF:102:304",
            "[::ffff:1.2.3.4]:80",
            "[::ffff:1.2.3.4]",
        ] {
            assert_eq!(Address::parse(text.as_bytes()), Some(FOUR), "{text:?}");
        }
        for text in [
            "2001:db8:0:7::1",
            "2001:0DB8:0:7:ffff:ffff:ffff:ffff",
            "[2001:db8:0:7::1]",
            "[2001:db8:0:7::1]:123",
            "2001:db8:0:7::1%eth0",
            "[2001:db8:0:7::1%25eth0]:1",
        ] {
            assert_eq!(Address::parse(text.as_bytes()), Some(DB8), "{text:?}");
        }
        assert_eq!(Address::parse(b"[::1]:123"), Some(Address::V6Net([0; 8])));
    }

    #[test]
    fn what_is_anything_else_is_no_address() {
        for text in [
            "",
            " ",
            "unknown",
            "_hidden",
            "1.2.3",
            "01.2.3.4",
            "1.2.3.4.5",
            "1.2.3.4,5.6.7.8",
            "1.2.3.4:",
            "1.2.3.4:99999",
            "1.2.3.4:+80",
            "1.2.3.4%eth0",
            "[1.2.3.4]",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "[::1]:x",
            "[[::1]]",
            ":::",
            "12345::",
            "%eth0",
            "\"[::1]\"",
            "a.example:80",
            "1.2.3.4\n",
        ] {
            assert_eq!(Address::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Address::parse(&[0x31, 0xff]), None);
    }

    fn hops(lines: &[&str], hops: u32) -> Option<Address> {
        let lines = lines.iter().map(|line| ("x-forwarded-for".to_owned(), line.as_bytes().to_vec()));
        let rule = ClientAddress::ForwardedForHops(NonZeroU32::new(hops).unwrap());
        Address::of_client(&rule, &Headers::new(lines.collect()), None)
    }

    #[test]
    fn hops_count_from_the_right_over_all_lines() {
        assert_eq!(hops(&["9.9.9.9, 1.2.3.4"], 1), Some(FOUR));
        assert_eq!(hops(&["1.2.3.4, 9.9.9.9"], 2), Some(FOUR));
        assert_eq!(hops(&["9.9.9.9", "1.2.3.4"], 1), Some(FOUR));
        assert_eq!(hops(&["8.8.8.8, 1.2.3.4:5", "9.9.9.9"], 2), Some(FOUR));
        assert_eq!(hops(&["1.2.3.4, ,", ","], 1), Some(FOUR));
    }

    #[test]
    fn a_list_that_is_too_short_or_broken_at_its_hop_gives_no_address() {
        assert_eq!(hops(&[], 1), None);
        assert_eq!(hops(&["1.2.3.4"], 2), None);
        assert_eq!(hops(&["1.2.3.4"], u32::MAX), None);
        assert_eq!(hops(&["1.2.3.4, unknown"], 1), None);
    }

    #[test]
    fn a_field_that_occurs_twice_was_not_overwritten_and_gives_no_address() {
        let rule = ClientAddress::Header("cf-connecting-ip".to_owned());
        let one = Headers::from([("CF-Connecting-IP", "1.2.3.4")]);
        let two = Headers::from([("cf-connecting-ip", "1.2.3.4"), ("cf-connecting-ip", "1.2.3.4")]);
        assert_eq!(Address::of_client(&rule, &one, Some(b"9.9.9.9")), Some(FOUR));
        assert_eq!(Address::of_client(&rule, &two, Some(b"9.9.9.9")), None);
    }

    #[test]
    fn the_address_of_the_connection_is_the_hosts_word_alone() {
        let headers = Headers::from([("x-forwarded-for", "9.9.9.9")]);
        let client = |connection| Address::of_client(&ClientAddress::Connection, &headers, connection);
        assert_eq!(client(Some(b"1.2.3.4:50000".as_slice())), Some(FOUR));
        assert_eq!(client(Some(b"/run/lb.sock")), None);
        assert_eq!(client(None), None);
    }

    proptest! {
        #[test]
        fn every_address_is_read_back_from_its_own_spelling(four in any::<Ipv4Addr>(), six in any::<Ipv6Addr>(), port in any::<u16>()) {
            let expected = Some(Address::V4(four.octets()));
            let read = |text: String| Address::parse(text.as_bytes());
            prop_assert_eq!(read(four.to_string()), expected);
            prop_assert_eq!(read(format!("{four}:{port}")), expected);
            prop_assert_eq!(read(four.to_ipv6_mapped().to_string()), expected);
            let bare = read(six.to_string());
            prop_assert!(bare.is_some());
            prop_assert_eq!(read(format!("[{six}]:{port}")), bare);
            prop_assert_eq!(read(format!("{six}%1")), bare);
        }

        #[test]
        fn two_addresses_of_one_net_are_one(net in any::<[u8; 8]>(), one in any::<[u8; 8]>(), other in any::<[u8; 8]>()) {
            let read = |host: [u8; 8]| {
                let octets = std::array::from_fn(|at| if at < 8 { net[at] } else { host[at - 8] });
                Address::parse(Ipv6Addr::from(octets).to_string().as_bytes())
            };
            // The mapped ones are all in one /64 and are told apart on purpose.
            if net != [0; 8] {
                prop_assert_eq!(read(one), read(other));
            }
        }
    }
}
