//! The client's address from any fields. The first byte of an input is a number of hops, the rest
//! are lines of `x-forwarded-for`.

use super::draws::Draws;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::limit::address::Address;
use messageweave_lb::policy::limit::rule::ClientAddress;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

/// The entry is the one from the right, whatever stands to its left, and it is read as what it is.
pub(crate) fn check(data: &[u8]) {
    let mut draws = Draws::new(data);
    let hops = NonZeroU32::new(u32::from(draws.byte() % 8) + 1).unwrap();
    let lines: Vec<_> = draws.rest().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let client = |lines: &[Vec<u8>]| {
        let fields = lines.iter().map(|line| ("x-forwarded-for".to_owned(), line.clone()));
        let rule = ClientAddress::ForwardedForHops(hops);
        Address::of_client(&rule, &Headers::new(fields.collect()), Some(b"192.0.2.1"))
    };
    let found = client(&lines);
    let list = lines.join(&b',');
    let mut entries = list.rsplit(|byte| *byte == b',').filter(|entry| !entry.trim_ascii().is_empty());
    let entry = entries.nth(hops.get() as usize - 1);
    assert_eq!(found, entry.and_then(Address::parse), "not the entry at its place from the right");
    if entry.is_some() {
        let forged = [vec![b"198.51.100.1, 2001:db8::1".to_vec()], lines.clone()].concat();
        assert_eq!(client(&forged), found, "who writes on the left chose the key");
    }
    if let Some((address, text)) = found.zip(entry) {
        assert_read(address, text);
    }
}

/// The address occurs in the text, and its plain spelling is read as the same.
fn assert_read(address: Address, text: &[u8]) {
    let text = std::str::from_utf8(text).expect("an address is text").trim();
    let bare = text.trim_start_matches('[').split([']', '%']).next().unwrap();
    let standard = bare.parse().or_else(|_| bare.rsplit_once(':').unwrap().0.parse::<IpAddr>()).unwrap();
    let plain = match address {
        Address::V4(octets) => IpAddr::from(Ipv4Addr::from(octets)),
        Address::V6Net(net) => {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&net);
            IpAddr::from(Ipv6Addr::from(octets))
        }
    };
    match (standard.to_canonical(), plain) {
        (IpAddr::V4(standard), IpAddr::V4(read)) => assert_eq!(standard, read),
        (IpAddr::V6(standard), IpAddr::V6(read)) => assert_eq!(standard.octets()[..8], read.octets()[..8]),
        (standard, read) => panic!("{standard} was read as {read}"),
    }
    // All-zero nets hold the mapped addresses too, which are none of theirs.
    assert_eq!(Address::parse(plain.to_string().as_bytes()), Some(address));
}
