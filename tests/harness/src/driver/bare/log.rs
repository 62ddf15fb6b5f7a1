//! Catches the policy's log lines, thread by thread: a case runs on one thread.

use std::cell::RefCell;

use log::{LevelFilter, Log, Metadata, Record};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Capture;

/// Installs the capture; again does no harm.
pub(super) fn capture() {
    static CAPTURE: Capture = Capture;
    if log::set_logger(&CAPTURE).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

/// The lines of this thread since the last call.
pub(super) fn take() -> Vec<String> {
    LINES.take()
}

impl Log for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LINES.with_borrow_mut(|lines| lines.push(record.args().to_string()));
    }

    fn flush(&self) {}
}
