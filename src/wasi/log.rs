//! The log, on the host's standard error: one line, one write.

use crate::policy::log_line;
use log::{LevelFilter, Log, Metadata, Record};
use std::io::Write;

/// Sends every record to standard error from now on.
pub(super) fn install() {
    // Fails only if a logger is set already, which nobody else does.
    let _ = log::set_logger(&Stderr);
    log::set_max_level(LevelFilter::Info);
}

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    #[expect(clippy::disallowed_methods, reason = "the end of the log that policy::event writes")]
    fn log(&self, record: &Record<'_>) {
        let line = log_line::write(record.level(), record.args());
        // A log that nobody takes must not cost an answer.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}
