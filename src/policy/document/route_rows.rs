//! `routes`: one row for each path or prefix.

use super::reader::{Faults, Fields, Place};
use super::{DocumentRule, MAX_ROUTES};
use crate::policy::fence::Fenced;
use crate::policy::json::Json;
use crate::policy::method::{Method, Methods};
use crate::policy::number;
use crate::policy::route::{Attempts, Bounds, Matcher, Route, Timeout};
use crate::policy::safelist::HEALTH_PATH;
use crate::policy::time::Millis;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Without the names of the limits, those that routes name are not judged.
pub(super) fn read(
    json: &Json,
    place: Place<'_>,
    limits: Option<&[&str]>,
    faults: &mut Faults,
) -> Vec<Route> {
    let Some(entries) = json.as_array().filter(|entries| (1..=MAX_ROUTES).contains(&entries.len())) else {
        return faults.add(place, DocumentRule::Routes).unwrap_or_default();
    };
    let mut known = BTreeMap::new();
    let mut rows = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let at = place.entry(index);
        let keys = &["path", "prefix", "methods", "timeout_ms", "attempts", "limit"];
        let Some(fields) = faults.object(entry, at, keys) else { continue };
        let matcher = matcher(fields, at, faults);
        if let Some((key, text)) = matcher {
            let first = *known.entry((key, text)).or_insert(index);
            if first != index {
                faults.note(at.key(key), DocumentRule::SamePath { first });
            }
        }
        let methods = faults.required(fields, at, "methods");
        let methods = methods.and_then(|list| read_methods(list, at.key("methods"), faults));
        let (bounds, limit) = (bounds(fields, at, faults), limit(fields, at, limits, faults));
        if let (Some((key, text)), Some(methods)) = (matcher, methods) {
            let text = Cow::Owned(text.to_owned());
            let matcher = if key == PATH { Matcher::Exact(text) } else { Matcher::Prefix(text) };
            rows.push(Route { matcher, methods, bounds, limit });
        }
    }
    rows
}

const PATH: &str = "path";
const PREFIX: &str = "prefix";

/// The key and its value.
fn matcher<'j>(fields: Fields<'j>, at: Place<'_>, faults: &mut Faults) -> Option<(&'static str, &'j str)> {
    let (key, value) = match (fields.get(PATH), fields.get(PREFIX)) {
        (Some(path), None) => (PATH, path),
        (None, Some(prefix)) => (PREFIX, prefix),
        _ => return faults.add(at, DocumentRule::Matcher),
    };
    let text = faults.text(value, at.key(key))?;
    let checked = if key == PATH { check_path(text) } else { check_prefix(text) };
    match checked {
        Ok(()) => Some((key, text)),
        Err(rule) => faults.add(at.key(key), rule),
    }
}

fn check_path(path: &str) -> Result<(), DocumentRule> {
    Fenced::new(path).map_err(DocumentRule::Fence)?;
    if path == HEALTH_PATH { Err(DocumentRule::OwnEndpoint) } else { Ok(()) }
}

/// Something must be able to pass the fence behind it.
fn check_prefix(prefix: &str) -> Result<(), DocumentRule> {
    if !(prefix.starts_with('/') && prefix.ends_with('/')) {
        return Err(DocumentRule::Prefix);
    }
    Fenced::new(&[prefix, "x"].concat()).map(drop).map_err(DocumentRule::Fence)
}

fn read_methods(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<Methods> {
    let Some(entries) = json.as_array().filter(|entries| !entries.is_empty()) else {
        return faults.add(place, DocumentRule::Methods);
    };
    let mut methods = Methods::default();
    for (index, entry) in entries.iter().enumerate() {
        match entry.as_str().and_then(Method::named) {
            None => faults.note(place, DocumentRule::UnknownMethod { index }),
            Some(method) if methods.contain(method) => {
                faults.note(place, DocumentRule::SameMethod(method));
            }
            Some(method) => methods = methods.and(method),
        }
    }
    Some(methods)
}

fn bounds(fields: Fields<'_>, at: Place<'_>, faults: &mut Faults) -> Bounds {
    let mut number = |key| faults.number(fields.get(key)?, at.key(key), number::MAX);
    let timeout = number("timeout_ms").map(|millis| Timeout::Own(Millis(millis.get().into())));
    let attempts = number("attempts").map(Attempts::Own);
    Bounds {
        timeout: timeout.unwrap_or(Bounds::ORDINARY.timeout),
        attempts: attempts.unwrap_or(Bounds::ORDINARY.attempts),
    }
}

/// The place of the limit that a route names.
fn limit(fields: Fields<'_>, at: Place<'_>, limits: Option<&[&str]>, faults: &mut Faults) -> Option<usize> {
    let name = faults.text(fields.get("limit")?, at.key("limit"))?;
    let found = limits?.iter().position(|known| *known == name);
    found.or_else(|| faults.add(at.key("limit"), DocumentRule::UnknownLimit))
}
