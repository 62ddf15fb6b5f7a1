//! The fence: which paths that a client spelt may be forwarded (RFC 3986 section 3.3, read strictly).
//!
//! A path behind a prefix is the client's own text. What makes one server see another path than the
//! next one does is not on it: dot segments and empty segments, also with parameters behind `;`;
//! backslashes; control bytes; escapes of `/`, `\`, `.`, `%` and of control bytes, and half escapes.
//! Nothing is ever repaired: a path passes as it is, or not at all.
//!
//! `/a%62c` and `/abc;x` pass too, but to many servers they are `/abc`: [`Fenced::meaning`] tells, so that
//! no spelling of a path gets around its row (see [`routes`](super::routes)).

use std::borrow::Cow;
use std::fmt;

/// The longest path, in bytes.
pub const MAX_PATH: usize = 2048;

/// A path that passed the fence. Only this file can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fenced<'a>(&'a str);

/// The rule that a path broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceRule {
    /// It does not start with `/`.
    Rootless,
    /// It is longer than [`MAX_PATH`].
    TooLong,
    /// A byte that is no printable ASCII, a blank, or one that ends a path.
    ForbiddenByte,
    /// A `%` without two hexadecimal digits.
    HalfEscape,
    /// An escape that hides a separator, a dot, a percent sign or a control byte.
    ForbiddenEscape,
    /// Two slashes in a row, or one at the end.
    EmptySegment,
    /// `.` or `..`
    DotSegment,
}

impl<'a> Fenced<'a> {
    /// Judges a path without query and fragment. The root has no segment, so none that is empty.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn new(path: &'a str) -> Result<Self, FenceRule> {
        let segments = path.strip_prefix('/').ok_or(FenceRule::Rootless)?;
        if path.len() > MAX_PATH {
            return Err(FenceRule::TooLong);
        }
        if path.bytes().any(|byte| !byte.is_ascii_graphic() || b"\\?#<>`".contains(&byte)) {
            return Err(FenceRule::ForbiddenByte);
        }
        path.split('%').skip(1).try_for_each(check_escape)?;
        if !segments.is_empty() {
            segments.split('/').try_for_each(check_segment)?;
        }
        Ok(Self(path))
    }

    /// The path, as it was received.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// The path as a server may read it: escapes undone, each byte as the character of its number, segments
    /// without parameters. Paths that some server takes for one have the same.
    #[must_use]
    pub fn meaning(self) -> Cow<'a, str> {
        meaning(self.0)
    }
}

/// See [`Fenced::meaning`]; of a text that passes but for a slash at its end.
pub(super) fn meaning(path: &str) -> Cow<'_, str> {
    if !path.bytes().any(|byte| b"%;".contains(&byte)) {
        return Cow::Borrowed(path);
    }
    let mut meaning = String::with_capacity(path.len());
    let mut is_parameter = false;
    let mut rest = path;
    while let Some(first) = rest.bytes().next() {
        rest = rest.get(1..).unwrap_or_default();
        let mut byte = first;
        if let Some(escaped) = escaped(rest).filter(|_| first == b'%') {
            byte = escaped;
            rest = rest.get(2..).unwrap_or_default();
        }
        is_parameter = (is_parameter || byte == b';') && byte != b'/';
        if !is_parameter {
            meaning.push(char::from(byte));
        }
    }
    Cow::Owned(meaning)
}

/// The byte that the text behind a `%` stands for.
fn escaped(after: &str) -> Option<u8> {
    let digits = after.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// Judges the text behind a `%`.
fn check_escape(after: &str) -> Result<(), FenceRule> {
    let byte = escaped(after).ok_or(FenceRule::HalfEscape)?;
    match byte.is_ascii_control() || b"/\\.%".contains(&byte) {
        true => Err(FenceRule::ForbiddenEscape),
        false => Ok(()),
    }
}

/// What some servers see of a segment must not be another one.
fn check_segment(segment: &str) -> Result<(), FenceRule> {
    match &*meaning(segment) {
        "" => Err(FenceRule::EmptySegment),
        "." | ".." => Err(FenceRule::DotSegment),
        _ => Ok(()),
    }
}

impl fmt::Display for FenceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rootless => "a path starts with /",
            Self::TooLong => "a path has at most 2048 bytes",
            Self::ForbiddenByte => "a path is printable ASCII without blank, backslash, and any of ? # < > `",
            Self::HalfEscape => "a % in a path is followed by two hexadecimal digits",
            Self::ForbiddenEscape => "a path has no %2f, %5c, %2e, %25 and no escaped control byte",
            Self::EmptySegment => "a path has no empty segment: no // and no / at its end",
            Self::DotSegment => "a path has no . or .. segment",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_stays_as_it_is() {
        for path in [
            "/",
            "/a",
            "/feeds/telegram/channel/x",
            "/a.b/..c/.../.well-known",
            "/a%20b/%E4%BD%A0",
            "/a:b@c!$&'()*+,=~_-",
            "/a;v=1/b",
            "/%7e%3b%3F%23",
        ] {
            assert_eq!(Fenced::new(path).map(Fenced::as_str), Ok(path));
        }
    }

    #[test]
    fn each_broken_rule_has_its_name() {
        use FenceRule::*;
        let cases = [
            ("", Rootless),
            ("a", Rootless),
            ("*", Rootless),
            ("https://a.example/", Rootless),
            ("//", EmptySegment),
            ("//a", EmptySegment),
            ("/a//b", EmptySegment),
            ("/a/", EmptySegment),
            ("/;x/a", EmptySegment),
            ("/.", DotSegment),
            ("/a/..", DotSegment),
            ("/../a", DotSegment),
            ("/a/./b", DotSegment),
            ("/a/..;x=1/b", DotSegment),
            ("/a/..%3bx=1/b", DotSegment),
            ("/a/.%3B", DotSegment),
            ("/%3b/a", EmptySegment),
            ("/a\\b", ForbiddenByte),
            ("/a b", ForbiddenByte),
            ("/a\tb", ForbiddenByte),
            ("/a\u{7f}", ForbiddenByte),
            ("/\u{e4}", ForbiddenByte),
            ("/a?b", ForbiddenByte),
            ("/a#b", ForbiddenByte),
            ("/a<b", ForbiddenByte),
            ("/a>b", ForbiddenByte),
            ("/a`b", ForbiddenByte),
            ("/a%2fb", ForbiddenEscape),
            ("/a%2Fb", ForbiddenEscape),
            ("/a%5cb", ForbiddenEscape),
            ("/a%5Cb", ForbiddenEscape),
            ("/%2e%2e/b", ForbiddenEscape),
            ("/%2Ehidden", ForbiddenEscape),
            ("/a%252fb", ForbiddenEscape),
            ("/a%00", ForbiddenEscape),
            ("/a%0d%0ab", ForbiddenEscape),
            ("/a%7F", ForbiddenEscape),
            ("/a%", HalfEscape),
            ("/a%2", HalfEscape),
            ("/a%zz", HalfEscape),
            ("/a%+1", HalfEscape),
            ("/a%u002f", HalfEscape),
        ];
        for (path, rule) in cases {
            assert_eq!(Fenced::new(path), Err(rule), "{path:?}");
        }
    }

    #[test]
    fn spellings_of_one_path_have_one_meaning() {
        let cases = [
            ("/feeds/refresh", "/feeds/refresh"),
            ("/feeds/%72efre%73h", "/feeds/refresh"),
            ("/%46eeds/refresh;x=1", "/Feeds/refresh"),
            ("/feeds;a/refresh%3bb", "/feeds/refresh"),
            ("/feeds;a%3Bb/refres%68;%72", "/feeds/refresh"),
            ("/%7e%2D%5f%30%21", "/~-_0!"),
            ("/a%20b%3F%23;/c", "/a b?#/c"),
            ("/", "/"),
        ];
        for (path, meaning) in cases {
            assert_eq!(Fenced::new(path).unwrap().meaning(), meaning, "{path}");
        }
        let meaning = |path| Fenced::new(path).unwrap().meaning().into_owned();
        assert_eq!(meaning("/%e4"), meaning("/%E4"));
    }

    #[test]
    fn the_longest_path_passes_and_one_byte_more_does_not() {
        let path = |length: usize| format!("/{}", "a".repeat(length - 1));
        assert!(Fenced::new(&path(MAX_PATH)).is_ok());
        assert_eq!(Fenced::new(&path(MAX_PATH + 1)), Err(FenceRule::TooLong));
    }
}
