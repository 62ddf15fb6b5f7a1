//! Standard error, line by line: the host's own lines and the component's, as text or as one JSON
//! object each (`--log`). A log that nobody takes costs no answer: what is not taken in time is dropped,
//! and a line says afterwards how much that was.

use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::ValueEnum;
use messageweave_lb::policy::log_line::{self, Line};
use serde_json::{Map, Value};

use crate::metrics::Metrics;
use crate::output::{self, Output};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Standard error is the process's, and so is this.
static JOURNAL: OnceLock<Journal> = OnceLock::new();

struct Journal {
    format: LogFormat,
    /// Counts the failures that the component tells of.
    metrics: Option<Arc<Metrics>>,
    lines: Output,
}

/// Decides, once, how lines are written from now on.
pub(crate) fn open(format: LogFormat, metrics: Option<Arc<Metrics>>) {
    let lines = Output::open(io::stderr(), move |lost| {
        spell(format, Level::Warn, &format_args!("standard error took the log too slowly: {lost} lines lost"))
    });
    // A second time does not come: a process serves once.
    let _ = JOURNAL.set(Journal { format, metrics, lines });
    std::panic::set_hook(Box::new(|panicked| {
        say(Level::Error, panicked);
        flush(output::last_lines());
    }));
}

/// Until everything is written, but not longer than until then.
pub(crate) fn flush(until: Instant) {
    if let Some(journal) = JOURNAL.get() {
        journal.lines.flush(until);
    }
}

pub(crate) fn format() -> LogFormat {
    JOURNAL.get().map_or(LogFormat::Text, |journal| journal.format)
}

/// How grave a line of the host's own is, in the words of the component's lines.
#[derive(Clone, Copy)]
pub(crate) enum Level {
    Info,
    Warn,
    Error,
}

impl Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        })
    }
}

/// A line of the host's own.
pub(crate) fn say(level: Level, message: &dyn Display) {
    write(spell(format(), level, message).as_bytes());
}

fn spell(format: LogFormat, level: Level, message: &dyn Display) -> String {
    match format {
        LogFormat::Text => format!("messageweave-lb: {message}\n"),
        LogFormat::Json => object(&level, &message, Map::new()),
    }
}

/// Lines of the host's own that are for people alone.
pub(crate) fn show(text: &str) {
    write(text.as_bytes());
}

/// A line of the host's own with further members: `name=value` in a text.
pub(crate) fn say_with(level: Level, message: &str, members: Map<String, Value>) {
    let line = match format() {
        LogFormat::Text => {
            let pairs = members.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("messageweave-lb: {message}{}\n", pairs.collect::<String>())
        }
        LogFormat::Json => object(&level, &message, members),
    };
    write(line.as_bytes());
}

/// Whole lines of the component's.
pub(crate) fn pass_on(lines: &[u8]) {
    let Some(journal) = JOURNAL.get() else { return };
    let as_json = journal.format == LogFormat::Json;
    if journal.metrics.is_none() && !as_json {
        journal.lines.write(lines);
        return;
    }
    for bytes in lines.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(bytes);
        let line = log_line::read(&text);
        let failed = line.and_then(|line| line.attempt).filter(|attempt| attempt.one_of_many);
        if let (Some(metrics), Some(attempt)) = (&journal.metrics, failed) {
            metrics.failed(attempt.origin, attempt.failure);
        }
        if as_json {
            journal.lines.write(to_json(&text, line).as_bytes());
        } else {
            journal.lines.write(bytes);
        }
    }
}

/// A line of the component's with the fields that it has. What it did not write as a log line, such
/// as the text of a panic, is a message.
fn to_json(text: &str, line: Option<Line<'_>>) -> String {
    let Some(line) = line else {
        return object(&Level::Info, &text.trim_end_matches('\n'), Map::new());
    };
    let mut members = Map::new();
    if let Some(attempt) = line.attempt {
        for (name, value) in [
            ("method", attempt.method),
            ("path", attempt.path),
            ("origin", attempt.origin),
            ("failure", attempt.failure),
        ] {
            members.insert(name.to_owned(), value.into());
        }
    }
    object(&line.level, &line.message, members)
}

fn object(level: &dyn Display, message: &dyn Display, members: Map<String, Value>) -> String {
    let mut object = Map::new();
    object.insert("level".to_owned(), level.to_string().into());
    object.insert("message".to_owned(), message.to_string().into());
    object.extend(members);
    Value::Object(object).to_string() + "\n"
}

fn write(lines: &[u8]) {
    match JOURNAL.get() {
        Some(journal) => drop(journal.lines.write(lines)),
        // Nothing is served yet: nobody waits.
        None => output::remark(&String::from_utf8_lossy(lines)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_component_has_its_fields_in_json() {
        let line = "messageweave-lb: WARN attempt failed: GET /ready https://a.example HTTP 502\n";
        assert_eq!(
            to_json(line, log_line::read(line)),
            "{\"level\":\"WARN\",\"message\":\"attempt failed: GET /ready https://a.example HTTP 502\",\
             \"method\":\"GET\",\"path\":\"/ready\",\"origin\":\"https://a.example\",\"failure\":\"HTTP 502\"}\n"
        );
    }

    #[test]
    fn any_other_text_is_a_message_on_one_line() {
        let text = "thread '<x>' \"panicked\"\r\n";
        assert_eq!(
            to_json(text, log_line::read(text)),
            "{\"level\":\"INFO\",\"message\":\"thread '<x>' \\\"panicked\\\"\\r\"}\n"
        );
    }
}
