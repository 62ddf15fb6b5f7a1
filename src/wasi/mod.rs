//! What the shells of the two `wasi:http` worlds share: the same types under two versions, the
//! configuration, the log.
//!
//! The standard library imports `wasi:cli` 0.2 in either world, for the message of a panic alone. So
//! environment and standard error are reached by it, and neither world asks for them again.
//!
//! | file | what |
//! |---|---|
//! | [`translation`] | fields, methods, schemes and error codes, for either version |
//! | [`settings`] | the configuration, read once in the life of an instance |
//! | [`limits`] | what an instance remembers for the rate limits |
//! | [`log`] | the log, on standard error |

mod limits;
mod log;
mod settings;
mod translation;

pub(crate) use limits::count;
pub(crate) use settings::settings;
pub(crate) use translation::translation;

use crate::policy::time::Millis;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A clock that runs out is looked at once more after this. A process that did not run for a while (a busy
/// or a sleeping machine) finds its clocks run out before it has read what came in the meantime, and what
/// is there when a clock runs out counts (contract 2.6).
pub(crate) const LAST_LOOK: Millis = Millis(20);

/// An instant or a span of a host, which counts nanoseconds.
pub(crate) const fn millis(nanos: u64) -> Millis {
    Millis(nanos / NANOS_PER_MILLI)
}

/// A time of day of a host, which counts seconds and the nanoseconds of the last one.
pub(crate) const fn time_of_day(seconds: u64, nanoseconds: u32) -> Millis {
    Millis(seconds.saturating_mul(1000).saturating_add(nanoseconds as u64 / NANOS_PER_MILLI))
}

/// An instant or a span for a host.
pub(crate) const fn nanos(time: Millis) -> u64 {
    time.0.saturating_mul(NANOS_PER_MILLI)
}
