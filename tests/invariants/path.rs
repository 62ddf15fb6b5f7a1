//! Which route takes a path, and what the fence is, seen from outside: by a walk over all rows, and by
//! what a server behind would make of the path, not by the policy's own steps.

use messageweave_lb::policy::fence::Fenced;
use messageweave_lb::policy::route::{Matcher, Route};
use messageweave_lb::policy::routes::Routes;

pub(crate) type Row<'r> = &'r Route;

/// The row that takes a path.
pub(crate) fn row<'r>(routes: &'r Routes, path: &str) -> Option<Row<'r>> {
    let exact = routes.iter().find(|row| matches!(&row.matcher, Matcher::Exact(text) if text == path));
    if let Some(row) = exact {
        return Some(row);
    }
    let prefixes = routes
        .iter()
        .filter(|row| matches!(&row.matcher, Matcher::Prefix(text) if path.starts_with(&**text)));
    let passes = assert_judged(path);
    let row = prefixes.max_by_key(|row| row.matcher.text().len()).filter(|_| passes)?;
    let seen = seen(path.as_bytes());
    let others = routes.iter().filter(|other| other.matcher != row.matcher);
    let is_anothers = others.map(|other| (&other.matcher, self::seen(other.matcher.text().as_bytes()))).any(
        |(matcher, text)| match matcher {
            Matcher::Exact(_) => text == seen,
            Matcher::Prefix(_) => {
                text.len() > self::seen(row.matcher.text().as_bytes()).len() && seen.starts_with(&text)
            }
        },
    );
    (!is_anothers && seen != b"/healthz-worker").then_some(row)
}

/// What a server may see that undoes escapes and drops parameters.
fn seen(path: &[u8]) -> Vec<u8> {
    let decoded = decode(path).unwrap_or_default();
    let names = decoded.split(|byte| *byte == b'/');
    let names: Vec<_> =
        names.map(|name| name.split(|byte| *byte == b';').next().unwrap_or_default()).collect();
    names.join(&b'/')
}

/// The policy's verdict on a path is that of this file.
pub(crate) fn assert_judged(path: &str) -> bool {
    let passes = passes(path.as_bytes());
    assert_eq!(Fenced::new(path).map(Fenced::as_str).ok(), passes.then_some(path), "{path:?}");
    passes
}

fn passes(path: &[u8]) -> bool {
    let Some(decoded) = decode(path) else { return false };
    let count = |bytes: &[u8], wanted: &[u8]| bytes.iter().filter(|byte| wanted.contains(byte)).count();
    let hides_nothing = count(path, b"/.") == count(&decoded, b"/.") && count(&decoded, b"\\%") == 0;
    let printable = path.iter().all(|byte| (0x21..=0x7e).contains(byte)) && count(path, b"?#<>`") == 0;
    let harmless = decoded.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f);
    let seen = seen(path);
    let mut names = seen.split(|byte| *byte == b'/').skip(1);
    let plain = path == b"/" || names.all(|name| ![&b""[..], b".", b".."].contains(&name));
    path.len() <= 2048 && path.first() == Some(&b'/') && hides_nothing && printable && harmless && plain
}

/// Nothing where a `%` starts no escape.
fn decode(path: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        decoded.push(*first);
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let value = |digit: u8| char::from(digit).to_digit(16);
            let byte = value(digits[0])? * 16 + value(digits[1])?;
            *decoded.last_mut()? = u8::try_from(byte).ok()?;
            rest = after;
        }
    }
    Some(decoded)
}
