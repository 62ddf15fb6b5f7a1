//! What the host gives: clocks, dice.

use super::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use super::bindings::wasi::io::poll::Pollable;
use super::bindings::wasi::random::random;
use crate::policy::time::Millis;
use crate::wasi;

/// The most that one blocking write takes (`wasi:io/streams`).
pub(super) const BLOCKING_WRITE: usize = 4096;

pub(super) fn now() -> Millis {
    wasi::millis(monotonic_clock::now())
}

/// Since the epoch.
pub(super) fn time_of_day() -> Millis {
    let now = wall_clock::now();
    wasi::time_of_day(now.seconds, now.nanoseconds)
}

/// Becomes ready at that instant.
pub(super) fn alarm(at: Millis) -> Pollable {
    monotonic_clock::subscribe_instant(wasi::nanos(at))
}

pub(super) fn dice() -> u64 {
    random::get_random_u64()
}
