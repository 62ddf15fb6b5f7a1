//! What an instance remembers for the rate limits, kept as long as the host keeps the instance.

use crate::policy::limit::gate::Gate;
use crate::policy::limit::limiter::Limiter;
use crate::policy::limit::window::Hit;
use crate::policy::time::Millis;
use std::sync::{Mutex, PoisonError};

static LIMITER: Mutex<Option<Limiter>> = Mutex::new(None);

/// Counts a request. Nothing is awaited here, so the lock is never held for long.
pub(crate) fn count(gate: &Gate<'_>, time_of_day: Millis, dice: fn() -> u64) -> Hit {
    let mut limiter = LIMITER.lock().unwrap_or_else(PoisonError::into_inner);
    let max_entries = super::settings().max_entries();
    let limiter = limiter.get_or_insert_with(|| Limiter::new([dice(), dice()], max_entries));
    limiter.count(gate, time_of_day)
}
