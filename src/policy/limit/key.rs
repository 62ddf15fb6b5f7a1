//! What a request is counted under: a keyed hash, never the value itself. Memory that holds a table
//! of keys holds no token and no address.
//!
//! The hash is SipHash-1-3 of 64 bits under a key of 128 random bits that each instance draws for
//! itself, so nobody can find two values that meet. By chance, any two of 5 000 do with odds of one
//! in 10^12; they would then share a bucket.

use super::super::headers::Headers;
use super::address::Address;
use super::rule::{DEFAULT_USER_HEADER, KeyKind, Limit};
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;

/// The key of the hash. It is never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(u64, u64);

impl Secret {
    /// From 128 random bits.
    #[must_use]
    pub const fn new(dice: [u64; 2]) -> Self {
        let [first, second] = dice;
        Self(first, second)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The hash of a limit and of what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(super) u64);

impl Key {
    /// The key of a request; `address` is that of its client.
    #[must_use]
    pub fn of(secret: Secret, limit: &Limit, headers: &Headers, address: Option<Address>) -> Self {
        let mut hash = Hash::new(secret, limit);
        let by_user = limit.key != KeyKind::Ip && hash.add_user(headers, &limit.user_header);
        if !by_user || limit.key == KeyKind::Both {
            hash.add_address(address);
        }
        hash.finish()
    }

    /// The key under which those of a limit are counted for which there is no room.
    #[must_use]
    pub fn overflow(secret: Secret, limit: &Limit) -> Self {
        let mut hash = Hash::new(secret, limit);
        hash.add(b"overflow", &[]);
        hash.finish()
    }
}

/// Parts under their names, each with its length, so that no two lists of them look alike.
struct Hash(SipHasher13);

impl Hash {
    fn new(Secret(first, second): Secret, limit: &Limit) -> Self {
        let mut hash = Self(SipHasher13::new_with_keys(first, second));
        // Another window is another bucket, should a limit change while its buckets are kept.
        hash.add(limit.name.as_bytes(), &limit.window_s.get().to_le_bytes());
        hash
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        for part in [name, value] {
            self.0.write(&(part.len() as u64).to_le_bytes());
            self.0.write(part);
        }
    }

    /// Says whether the request names a user: by exactly one field that is not empty and travels on. Else one
    /// user would have as many buckets as there are second lines.
    fn add_user(&mut self, headers: &Headers, name: &str) -> bool {
        let Some(value) = headers.only(name) else { return false };
        if name == DEFAULT_USER_HEADER {
            let (scheme, credentials) = credentials(value);
            self.add(b"scheme", &scheme.to_ascii_lowercase());
            self.add(b"user", credentials);
        } else {
            self.add(b"user", value);
        }
        true
    }

    fn add_address(&mut self, address: Option<Address>) {
        match address {
            Some(Address::V4(octets)) => self.add(b"v4", &octets),
            Some(Address::V6Net(octets)) => self.add(b"v6", &octets),
            None => self.add(b"nowhere", &[]),
        }
    }

    fn finish(self) -> Key {
        Key(self.0.finish())
    }
}

/// The scheme of an `authorization`, whose case does not matter, and what stands behind it and any number
/// of blanks (RFC 9110 section 11.4).
fn credentials(value: &[u8]) -> (&[u8], &[u8]) {
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    let (scheme, rest) = value.split_at_checked(end).unwrap_or((value, &[]));
    (scheme, rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::super::tests::limit;
    use super::*;

    const SECRET: Secret = Secret::new([1, 2]);
    const HERE: Option<Address> = Some(Address::V4([1, 2, 3, 4]));
    const THERE: Option<Address> = Some(Address::V4([4, 3, 2, 1]));

    fn key(kind: KeyKind, headers: &Headers, address: Option<Address>) -> Key {
        Key::of(SECRET, &Limit { key: kind, ..limit() }, headers, address)
    }

    fn user(value: &str) -> Headers {
        Headers::from([("authorization", value)])
    }

    #[test]
    fn by_address_the_user_does_not_matter() {
        let key = |headers, address| key(KeyKind::Ip, &headers, address);
        assert_eq!(key(user("a"), HERE), key(user("b"), HERE));
        assert_ne!(key(user("a"), HERE), key(user("a"), THERE));
        assert_eq!(key(user("a"), None), key(user("b"), None));
        assert_ne!(key(user("a"), None), key(user("a"), HERE));
    }

    #[test]
    fn by_user_the_address_matters_only_without_one() {
        let key = |headers, address| key(KeyKind::User, &headers, address);
        assert_eq!(key(user("a"), HERE), key(user("a"), THERE));
        assert_ne!(key(user("a"), HERE), key(user("b"), HERE));
        assert_ne!(key(Headers::default(), HERE), key(Headers::default(), THERE));
        assert_eq!(key(user(""), HERE), key(Headers::default(), HERE));
    }

    #[test]
    fn by_both_each_pair_is_a_key_of_its_own() {
        let key = |headers, address| key(KeyKind::Both, &headers, address);
        assert_ne!(key(user("a"), HERE), key(user("a"), THERE));
        assert_ne!(key(user("a"), HERE), key(user("b"), HERE));
        assert_ne!(key(user("a"), HERE), key(Headers::default(), HERE));
    }

    #[test]
    fn a_repeated_field_names_nobody() {
        let key = |headers: &Headers, address| key(KeyKind::User, headers, address);
        for second in ["b", ""] {
            let two = Headers::from([("authorization", "a"), ("authorization", second)]);
            assert_eq!(key(&two, HERE), key(&Headers::default(), HERE));
            assert_ne!(key(&two, HERE), key(&two, THERE));
        }
    }

    #[test]
    fn a_user_has_one_key_however_the_scheme_is_spelt() {
        let key = |value| key(KeyKind::User, &user(value), HERE);
        for spelling in ["bearer t", "BEARER t", "Bearer   t", "Bearer\tt"] {
            assert_eq!(key(spelling), key("Bearer t"), "{spelling}");
        }
        for other in ["Bearer T", "Basic t", "Bearert", "Bearer t t"] {
            assert_ne!(key(other), key("Bearer t"), "{other}");
        }
    }

    #[test]
    fn another_field_is_taken_byte_for_byte() {
        let limit = Limit { key: KeyKind::User, user_header: "x-api-key".to_owned(), ..limit() };
        let key = |value| Key::of(SECRET, &limit, &Headers::from([("x-api-key", value)]), HERE);
        assert_ne!(key("A b"), key("a b"));
        assert_ne!(key("a  b"), key("a b"));
    }

    #[test]
    fn limits_windows_and_secrets_keep_keys_apart() {
        let headers = user("a");
        let here = |limit: &Limit, secret| Key::of(secret, limit, &headers, HERE);
        let first = here(&limit(), SECRET);
        assert_ne!(first, here(&Limit { name: "other".to_owned(), ..limit() }, SECRET));
        assert_ne!(first, here(&Limit { window_s: 61.try_into().unwrap(), ..limit() }, SECRET));
        assert_ne!(first, here(&limit(), Secret::new([2, 1])));
        assert_eq!(first, here(&Limit { limit: 1.try_into().unwrap(), ..limit() }, SECRET));
        assert_ne!(Key::overflow(SECRET, &limit()), here(&limit(), SECRET));
    }

    #[test]
    fn the_secret_is_not_printed() {
        assert_eq!(format!("{SECRET:?}"), "Secret");
    }
}
