//! The invariants that the targets run; the property tests run the same (`tests/properties.rs`).

#[allow(unused_imports, reason = "the property tests use more of it")]
#[path = "../../tests/invariants/mod.rs"]
mod invariants;

/// Any text as an origin.
pub fn origin(data: &[u8]) {
    invariants::origin(data);
}

/// Any request head under any configuration.
pub fn request_head(data: &[u8]) {
    invariants::request_head(data);
}

/// Any `location` of a backend.
pub fn location(data: &[u8]) {
    invariants::location(data);
}

/// Any sequence of events on an exchange.
pub fn exchange(data: &[u8]) {
    invariants::exchange(data);
}

/// Any text as an origin, beside the URL standard.
pub fn whatwg_origin(data: &[u8]) {
    invariants::whatwg_origin(data);
}

/// Any `location` of a backend, beside the URL standard.
pub fn whatwg_location(data: &[u8]) {
    invariants::whatwg_location(data);
}

/// Any lines of `x-forwarded-for`.
pub fn client_address(data: &[u8]) {
    invariants::client_address(data);
}

/// Any sequence of keys and clocks against the rate limiter.
pub fn limit(data: &[u8]) {
    invariants::limit(data);
}

/// Any path, method and policy document.
pub fn policy(data: &[u8]) {
    invariants::policy(data);
}
