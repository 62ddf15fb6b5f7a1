//! `--access-log`: a line per request on standard output: method, path, status, origin, attempts,
//! milliseconds, and whether the answer broke off. Never a query. A thread of its own writes, so that a reader who does not read holds
//! up no answer: lines that it does not keep up with are dropped.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::journal::{self, Level, LogFormat};

/// Lines that may wait to be written.
const WAITING: usize = 8192;
/// Characters of a method or path that are told.
const LONGEST: usize = 256;
/// How long the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

pub(super) struct AccessLog {
    format: LogFormat,
    lines: SyncSender<Entry>,
    is_behind: AtomicBool,
}

enum Entry {
    Line(String),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

/// What a request says of itself, fit to be written.
pub(super) struct Line {
    method: String,
    path: String,
}

impl Line {
    /// `path` is without query and fragment.
    pub(super) fn of(method: &str, path: &str) -> Self {
        Self { method: fit(method), path: fit(path) }
    }
}

/// How a request ended.
pub(super) struct Ended {
    pub(super) status: u16,
    pub(super) attempts: u32,
    /// The answer did not break off.
    pub(super) is_whole: bool,
    pub(super) time: Duration,
}

/// What is not printable is escaped, and a backslash too, so that an escape is one.
fn fit(text: &str) -> String {
    let mut fit = String::with_capacity(text.len().min(LONGEST));
    for (index, character) in text.chars().enumerate() {
        match character {
            _ if index == LONGEST => {
                fit.push('\u{2026}');
                break;
            }
            '"' | '\'' => fit.push(character),
            _ => fit.extend(character.escape_debug()),
        }
    }
    fit
}

impl AccessLog {
    pub(super) fn open(format: LogFormat) -> Self {
        let (lines, received) = sync_channel(WAITING);
        std::thread::spawn(move || write_all(&received));
        Self { format, lines, is_behind: AtomicBool::new(false) }
    }

    pub(super) fn write(&self, line: &Line, origin: Option<&str>, ended: Ended) {
        let Line { method, path } = line;
        let Ended { status, attempts, is_whole, time } = ended;
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let text = match self.format {
            LogFormat::Text => {
                let end = if is_whole { "" } else { " broken-off" };
                format!("{method} {path} {status} {} {attempts} {ms}{end}\n", origin.unwrap_or("-"))
            }
            LogFormat::Json => {
                let mut object = json!({
                    "method": method, "path": path, "status": status,
                    "origin": origin, "attempts": attempts, "ms": ms,
                });
                if let (false, Value::Object(members)) = (is_whole, &mut object) {
                    members.insert("broken_off".to_owned(), true.into());
                }
                object.to_string() + "\n"
            }
        };
        let taken = self.lines.try_send(Entry::Line(text)).is_ok();
        if !taken && !self.is_behind.swap(true, Ordering::Relaxed) {
            journal::say(Level::Warn, &"standard output takes the access log too slowly: lines are dropped");
        }
    }

    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.lines.try_send(Entry::Flush(done)).is_ok() {
            // A reader that still does not read does not hold up the end.
            let _ = written.recv_timeout(LAST_LINES);
        }
    }
}

/// Writes what has come, and flushes when nothing more has.
fn write_all(lines: &Receiver<Entry>) {
    let mut out = BufWriter::new(io::stdout());
    loop {
        let entry = match lines.try_recv() {
            Ok(entry) => entry,
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {
                let _ = out.flush();
                let Ok(entry) = lines.recv() else { return };
                entry
            }
        };
        match entry {
            // Output that is gone does not end the host.
            Entry::Line(line) => drop(out.write_all(line.as_bytes())),
            Entry::Flush(done) => {
                let _ = out.flush();
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_path_ends_a_line_or_moves_a_cursor() {
        assert_eq!(fit("/a\u{7f}\u{1b}\n\u{202e}\u{85}b\\"), "/a\\u{7f}\\u{1b}\\n\\u{202e}\\u{85}b\\\\");
        assert_eq!(fit("/\"quoted'/\u{e9}"), "/\"quoted'/\u{e9}");
    }

    #[test]
    fn a_long_path_is_cut() {
        let path = "/".repeat(10_000);
        assert_eq!(fit(&path).chars().count(), LONGEST + 1);
    }
}
