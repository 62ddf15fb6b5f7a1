//! What is different when the host is Envoy: its own arguments, and how it prints the filter's log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::world::{World, root};

/// The filter as the Makefile builds it.
#[must_use]
pub fn filter() -> PathBuf {
    World::Envoy.file()
}

/// The filter with its hook for tests, as the Makefile builds it.
#[must_use]
pub fn trapping_filter() -> PathBuf {
    root().join("target/messageweave-lb-envoy-trap.wasm")
}

/// Envoy as the Makefile fetches it.
#[must_use]
pub fn envoy_binary() -> PathBuf {
    root().join(".tools/envoy")
}

/// Runs that Envoy, with one worker.
pub(super) fn adapt(arguments: &mut Vec<String>, environment: &mut BTreeMap<String, String>) {
    environment.insert("ENVOY".to_owned(), envoy_binary().display().to_string());
    arguments.extend(["--", "--concurrency", "1"].map(str::to_owned));
}

/// What the filter logs stands behind Envoy's own words.
pub(super) fn logged(line: &str) -> Option<&str> {
    let events = ["attempt failed: ", "all backends failed: ", "misconfigured: ", "rate limits are off: "];
    let (_, rest) = line.split_once("wasm log ")?.1.split_once(": ")?;
    rest.get(events.iter().filter_map(|event| rest.find(event)).min()?..)
}

/// Envoy's router tells of a try once it is over, which may be after the filter has told of the request
/// that it was the last try of.
pub(super) fn order_last_try(lines: &mut [String]) {
    const LAST: &str = "all backends failed: ";
    const TRY: &str = "attempt failed: ";
    for index in 1..lines.len() {
        if let Some([request, attempt]) = lines.get_mut(index - 1..=index)
            && request.strip_prefix(LAST).is_some_and(|told| attempt.strip_prefix(TRY) == Some(told))
        {
            std::mem::swap(request, attempt);
        }
    }
}
