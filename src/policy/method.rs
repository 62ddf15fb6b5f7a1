//! The methods that a route can have (RFC 9110 section 9, RFC 5789). `CONNECT` and `TRACE` are no
//! methods of a route: the one asks for a tunnel, the other shows a request with its credentials to
//! whoever reads the answer.

use std::fmt;

/// A method that a route can have. Names are case-sensitive (RFC 9110 section 9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`; never carries a body upstream.
    Get,
    /// `HEAD`; never carries a body, and neither does its answer.
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
}

impl Method {
    /// All of them, in the order of the `allow` field.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// The method as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// The method of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// Whether a request with this method may carry a body.
    #[must_use]
    pub const fn carries_body(self) -> bool {
        !matches!(self, Self::Get | Self::Head)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of methods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// One method.
    #[must_use]
    pub const fn only(method: Method) -> Self {
        Self(1 << method as u8)
    }

    /// These and one more.
    #[must_use]
    pub const fn and(self, method: Method) -> Self {
        Self(self.0 | Self::only(method).0)
    }

    /// Whether it is one of them.
    #[must_use]
    pub const fn contain(self, method: Method) -> bool {
        self.0 & Self::only(method).0 != 0
    }

    /// Whether there are none.
    #[must_use]
    pub const fn are_none(self) -> bool {
        self.0 == 0
    }

    /// The methods, in the order of the `allow` field.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        Method::ALL.into_iter().filter(move |method| self.contain(*method))
    }

    /// Their names in that order.
    #[must_use]
    pub fn join(self, separator: &str) -> String {
        self.iter().map(Method::as_str).collect::<Vec<_>>().join(separator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_method_only_as_it_is_spelt() {
        for method in Method::ALL {
            assert_eq!(Method::named(method.as_str()), Some(method));
        }
        for name in ["", "get", "CONNECT", "TRACE", "GET ", "PROPFIND"] {
            assert_eq!(Method::named(name), None, "{name:?}");
        }
    }

    #[test]
    fn only_get_and_head_carry_no_body() {
        let without: Vec<_> = Method::ALL.into_iter().filter(|method| !method.carries_body()).collect();
        assert_eq!(without, [Method::Get, Method::Head]);
    }

    #[test]
    fn a_set_has_one_order() {
        let methods = Methods::only(Method::Options).and(Method::Put).and(Method::Get).and(Method::Put);
        assert_eq!(methods.join(", "), "GET, PUT, OPTIONS");
        assert!(Methods::default().are_none() && !methods.contain(Method::Head));
    }
}
