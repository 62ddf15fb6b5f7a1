//! What the host gives: environment, clock, dice, log.

use super::bindings::wasi::cli::{environment, stderr};
use super::bindings::wasi::clocks::monotonic_clock;
use super::bindings::wasi::io::poll::Pollable;
use super::bindings::wasi::random::random;
use crate::policy::settings::Settings;
use crate::policy::time::Millis;
use log::{LevelFilter, Log, Metadata, Record};
use std::sync::OnceLock;

const NANOS_PER_MILLI: u64 = 1_000_000;
/// The most that one blocking write takes (`wasi:io/streams`).
pub(super) const BLOCKING_WRITE: usize = 4096;

/// The configuration, read once in the life of an instance.
pub(super) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        // Fails only if a logger is set already, which nobody else does.
        let _ = log::set_logger(&Stderr);
        log::set_max_level(LevelFilter::Info);
        let variables = environment::get_environment();
        Settings::from_vars(|name| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        })
    })
}

pub(super) fn now() -> Millis {
    Millis(monotonic_clock::now() / NANOS_PER_MILLI)
}

/// Becomes ready at that instant.
pub(super) fn alarm(at: Millis) -> Pollable {
    monotonic_clock::subscribe_instant(at.0.saturating_mul(NANOS_PER_MILLI))
}

pub(super) fn dice() -> u64 {
    random::get_random_u64()
}

/// The log goes to the host's standard error.
struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("messageweave-lb: {} {}\n", record.level(), record.args());
        let stream = stderr::get_stderr();
        for chunk in line.as_bytes().chunks(BLOCKING_WRITE) {
            // A log that nobody takes must not cost an answer.
            let _ = stream.blocking_write_and_flush(chunk);
        }
    }

    fn flush(&self) {}
}
