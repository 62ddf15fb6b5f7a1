//! `--access-log`: a line per request on standard output: method, path, status, origin, attempts,
//! milliseconds, and whether the answer broke off. Never a query. A reader who does not read holds up no
//! answer: lines that it does not keep up with are dropped.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::journal::{self, Level, LogFormat};
use crate::output::Output;

/// Characters of a method or path that are told.
const LONGEST: usize = 256;
pub(super) struct AccessLog {
    format: LogFormat,
    lines: Arc<Output>,
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
    pub(super) fn new(format: LogFormat, lines: Arc<Output>) -> Self {
        Self { format, lines }
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
        if self.lines.write(text.as_bytes()) {
            journal::say(Level::Warn, &"standard output takes the access log too slowly: lines are dropped");
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
