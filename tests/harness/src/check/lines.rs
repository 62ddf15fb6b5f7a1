//! Header lines: per name the exact values in order; the order between names is free.

use std::collections::BTreeSet;

use crate::case::HeaderField;
use crate::evidence::Line;

/// For each name in `expected`: exactly these values, in order.
pub(super) fn required(expected: &[HeaderField], got: &[Line]) -> Vec<String> {
    let names: BTreeSet<String> = expected.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.iter().filter_map(|name| compare(name, expected, got)).collect()
}

/// The same, and no other name but those of `free`, unless `expected` names them.
pub(super) fn exact(expected: &[HeaderField], got: &[Line], free: &[&str]) -> Vec<String> {
    let mut faults = required(expected, got);
    let mut others: Vec<String> = got
        .iter()
        .filter(|(name, _)| !free.contains(&name.as_str()))
        .filter(|(name, _)| !expected.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)))
        .map(|(name, value)| format!("unexpected header {name}: {}", value.escape_ascii()))
        .collect();
    faults.append(&mut others);
    faults
}

pub(super) fn present(names: &[String], got: &[Line]) -> Vec<String> {
    let once = |name: &&String| got.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).count() == 1;
    let missing = names.iter().filter(|name| !once(name));
    missing.map(|name| format!("header {name} must be present once")).collect()
}

pub(super) fn absent(names: &[String], got: &[Line]) -> Vec<String> {
    let present = |name: &&String| got.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    names.iter().filter(present).map(|name| format!("header {name} must be absent")).collect()
}

fn compare(name: &str, expected: &[HeaderField], got: &[Line]) -> Option<String> {
    let of_name = |known: &str| known.eq_ignore_ascii_case(name);
    let wanted: Vec<String> = expected
        .iter()
        .filter(|(known, _)| of_name(known))
        .map(|(_, value)| value.0.escape_ascii().to_string())
        .collect();
    let found: Vec<String> = got
        .iter()
        .filter(|(known, _)| of_name(known))
        .map(|(_, value)| value.escape_ascii().to_string())
        .collect();
    (wanted != found).then(|| format!("header {name}: expected {wanted:?}, got {found:?}"))
}
