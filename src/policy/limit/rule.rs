//! What an entry of `limits` in a policy document means.

use super::super::headers::HOP_BY_HOP;
use std::num::NonZeroU32;

/// How many buckets an instance keeps unless the document's `max_entries` says otherwise.
pub const DEFAULT_MAX_ENTRIES: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// The largest `max_entries`: some 24 MB of buckets.
pub const MOST_MAX_ENTRIES: u32 = 1_000_000;
/// The `code` of the `429` unless the limit sets one.
pub const DEFAULT_CODE: &str = "RATE_LIMIT";
/// The field that names the user unless the limit sets one.
pub const DEFAULT_USER_HEADER: &str = "authorization";

/// One limit: so many requests per key and window. Routes that name the same limit share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name in the document, by which routes refer to it.
    pub name: String,
    /// `key`: what a request is counted under.
    pub key: KeyKind,
    /// `user_header`: the field that names the user, in lower case (see [`field_name`]).
    pub user_header: String,
    /// `client_address`: where the client's address comes from.
    pub client_address: ClientAddress,
    /// `limit`: how many requests of one key are forwarded in one window.
    pub limit: NonZeroU32,
    /// `window_s`: the length of a window, in seconds.
    pub window_s: NonZeroU32,
    /// `code`: the `code` of the `429`; any text, it is escaped.
    pub code: String,
}

/// What a request is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// `"ip"`: the client's address.
    Ip,
    /// `"user"`: the value of the user's field; the client's address where the request has none.
    User,
    /// `"both"`: the pair of them, so that one user at two addresses has two buckets.
    Both,
}

/// Where the client's address comes from. Nothing that a client can write itself is ever a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAddress {
    /// Absent: the address of the connection, on hosts that tell it. On the others all clients
    /// share one key.
    Connection,
    /// `{"header": "cf-connecting-ip"}`: a field that a proxy in front always overwrites, its name
    /// in lower case (see [`field_name`]).
    Header(String),
    /// `{"forwarded_for_hops": 1}`: that entry of `x-forwarded-for`, counted from the right.
    ForwardedForHops(NonZeroU32),
}

/// The name of a field as headers hold it, in lower case, or nothing where it is no token
/// (RFC 9110 section 5.1). Neither is it one of a connection, or `host`: hosts show those or hide them.
#[must_use]
pub fn field_name(text: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = text.to_ascii_lowercase();
    let travels = name != "host" && !HOP_BY_HOP.contains(&name.as_str());
    (travels && !name.is_empty() && name.bytes().all(is_token)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_name_is_a_token_in_lower_case() {
        assert_eq!(field_name("CF-Connecting-IP").as_deref(), Some("cf-connecting-ip"));
        for text in ["", " ", ":path", "a b", "a:", "a\n", "ä", "Host", "TE", "proxy-authorization"] {
            assert_eq!(field_name(text), None, "{text:?}");
        }
    }
}
