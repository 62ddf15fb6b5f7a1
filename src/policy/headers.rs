//! Header fields, and which of them travel (contract 2.5; RFC 9110 section 7.6.1).
//!
//! Everything travels byte for byte and in order, except fields that are about one connection
//! (hop-by-hop), those that the balancer sets itself, and those that a host added on its own.

/// One header field: its lower-case name and its bytes.
pub type Field = (String, Vec<u8>);

/// A header section: fields in the order received, names in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<Field>);

/// Fields about one connection only, dropped both ways. RFC 9110 section 7.6.1 names most of them;
/// `keep-alive`, `proxy-connection` and `http2-settings` are its historical siblings, and the
/// `proxy-*` credentials belong to the next proxy alone.
pub const HOP_BY_HOP: [&str; 11] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
];

/// Fields that `connection` cannot nominate away: they frame and route the message itself, and
/// RFC 9110 section 7.6.1 forbids to nominate a field that is meant for every recipient.
const NEVER_NOMINATED: [&str; 2] = ["content-length", "host"];

impl Headers {
    /// Takes a header section over, with its names lower-cased.
    #[must_use]
    pub fn new(mut fields: Vec<Field>) -> Self {
        for (name, _) in &mut fields {
            name.make_ascii_lowercase();
        }
        Self(fields)
    }

    /// The fields in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Field] {
        &self.0
    }

    /// The fields themselves.
    #[must_use]
    pub fn into_vec(self) -> Vec<Field> {
        self.0
    }

    /// The values of one name (in lower case), in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The first value of one name (in lower case).
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The value of a field (in lower case) by which a request may be told from another's: of two lines, servers
    /// take either, and what `connection` nominates goes no further than here, on hosts that show it at all.
    #[must_use]
    pub fn only<'a>(&'a self, name: &'a str) -> Option<&'a [u8]> {
        let mut values = self.all(name);
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        (!value.is_empty() && !self.nominates(name)).then_some(value)
    }

    /// Whether `connection` lists it (in lower case).
    #[must_use]
    pub fn nominates(&self, name: &str) -> bool {
        self.nominated().iter().any(|other| other == name)
    }

    /// Keeps the fields whose name passes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// Replaces every field of that name by one.
    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.retain(|known| known != name);
        self.0.push((name.to_owned(), value.into()));
    }

    /// Names and values together, in bytes; the count of fields.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let bytes = self.0.iter().map(|(name, value)| name.len() + value.len());
        (bytes.sum(), self.0.len())
    }

    /// Drops the hop-by-hop fields and those that `connection` nominates. A content-length beside a
    /// transfer-encoding was overridden by it and counts something else: it must not travel on
    /// (RFC 9112 section 6.3).
    pub fn drop_hop_by_hop(&mut self) {
        if self.first("transfer-encoding").is_some() {
            self.retain(|name| name != "content-length");
        }
        let nominated = self.nominated();
        self.retain(|name| !HOP_BY_HOP.contains(&name) && !nominated.iter().any(|other| other == name));
    }

    /// What remains of a client's request for the origins: no hop-by-hop fields, no `host` (it
    /// becomes the origin's authority), no `expect`, nothing that a Spin host added.
    pub fn keep_for_origin(&mut self) {
        self.drop_hop_by_hop();
        self.retain(|name| name != "host" && name != "expect" && !name.starts_with("spin-"));
    }

    /// The names that `connection` lists, in lower case.
    fn nominated(&self) -> Vec<String> {
        self.all("connection")
            .flat_map(|value| value.split(|&byte| byte == b','))
            .filter_map(|item| std::str::from_utf8(item.trim_ascii()).ok())
            .map(str::to_ascii_lowercase)
            .filter(|name| !name.is_empty() && !NEVER_NOMINATED.contains(&name.as_str()))
            .collect()
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Headers {
    fn from(fields: [(&str, &str); N]) -> Self {
        Self::new(
            fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(headers: &Headers) -> Vec<&str> {
        let fields = headers.as_slice().iter();
        fields.map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn every_hop_by_hop_field_is_dropped() {
        let mut headers = Headers::new(
            HOP_BY_HOP
                .iter()
                .map(|name| (name.to_ascii_uppercase(), b"x".to_vec()))
                .chain([("Accept".to_owned(), b"*/*".to_vec())])
                .collect(),
        );
        headers.drop_hop_by_hop();
        assert_eq!(names(&headers), ["accept"]);
    }

    #[test]
    fn fields_nominated_by_connection_are_dropped_but_framing_is_not() {
        let mut headers = Headers::from([
            ("connection", "close, X-Lb-Backend,authorization"),
            ("connection", "content-length"),
            ("x-lb-backend", "forged"),
            ("authorization", "Bearer secret"),
            ("content-length", "3"),
            ("x-kept", "1"),
        ]);
        headers.drop_hop_by_hop();
        assert_eq!(names(&headers), ["content-length", "x-kept"]);
    }

    #[test]
    fn a_content_length_that_was_overridden_does_not_travel() {
        let mut headers =
            Headers::from([("content-length", "5"), ("transfer-encoding", "chunked"), ("etag", "1")]);
        headers.drop_hop_by_hop();
        assert_eq!(names(&headers), ["etag"]);
    }

    #[test]
    fn an_origin_sees_no_host_expect_or_spin_fields() {
        let mut headers = Headers::from([
            ("host", "lb.example"),
            ("expect", "100-continue"),
            ("spin-path-info", "/"),
            ("cookie", "a=b"),
        ]);
        headers.keep_for_origin();
        assert_eq!(names(&headers), ["cookie"]);
    }

    #[test]
    fn set_replaces_every_field_of_the_name() {
        let mut headers = Headers::from([("x-lb-backend", "a"), ("via", "1"), ("x-lb-backend", "b")]);
        headers.set("x-lb-backend", "c");
        assert_eq!(headers.all("x-lb-backend").collect::<Vec<_>>(), [b"c"]);
    }
}
