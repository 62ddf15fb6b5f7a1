//! One line of the log as text (contract 2.9): the wasi shells write it, and the native host reads it
//! back where it has to know what a line says.

use super::event::{ATTEMPT_FAILED, REQUEST_EXHAUSTED};
use log::Level;
use std::fmt;

const NAME: &str = "messageweave-lb: ";

/// The line of an event or of any other record, with its end.
#[must_use]
pub fn write(level: Level, message: &dyn fmt::Display) -> String {
    format!("{NAME}{level} {message}\n")
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// How grave it is.
    pub level: Level,
    /// Its text.
    pub message: &'a str,
    /// Its four fields, where it tells of an attempt.
    pub attempt: Option<Attempt<'a>>,
}

/// The four fields of an attempt, as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The attempt failed; else no other is left, and the request failed.
    pub one_of_many: bool,
    /// The method.
    pub method: &'a str,
    /// The literal of the safelist.
    pub path: &'a str,
    /// The origin.
    pub origin: &'a str,
    /// The class, or `HTTP <status>`.
    pub failure: &'a str,
}

/// Reads a line back, with or without its end. `None` for a line that `write` did not make.
#[must_use]
pub fn read(line: &str) -> Option<Line<'_>> {
    let line = line.strip_suffix('\n').unwrap_or(line).strip_prefix(NAME)?;
    let (level, message) = line.split_once(' ')?;
    let of = |phrase, one_of_many| attempt(message.strip_prefix(phrase)?, one_of_many);
    let attempt = of(ATTEMPT_FAILED, true).or_else(|| of(REQUEST_EXHAUSTED, false));
    Some(Line { level: level.parse().ok()?, message, attempt })
}

fn attempt(fields: &str, one_of_many: bool) -> Option<Attempt<'_>> {
    let mut fields = fields.splitn(4, ' ');
    Some(Attempt {
        one_of_many,
        method: fields.next()?,
        path: fields.next()?,
        origin: fields.next()?,
        failure: fields.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::event::{self, Event};
    use super::super::failure::{Exhausted, Failure, FailureClass};
    use super::super::origin::Origin;
    use super::super::routes::Target;
    use super::*;

    #[test]
    fn what_is_written_of_an_attempt_is_read_back_in_its_four_fields() {
        let origin = &Origin::parse("https://[2001:db8::1]:8443").unwrap();
        let target = Target::health_probe();
        for failure in [Failure::Status(502), Failure::Class(FailureClass::Timeout)] {
            let attempt = || event::Attempt::new(&target, &Exhausted { origin, failure });
            for event in [Event::AttemptFailed(attempt()), Event::RequestExhausted(attempt())] {
                let line = write(Level::Warn, &event);
                let read = read(&line).unwrap();
                assert_eq!((read.level, read.message), (Level::Warn, event.to_string().as_str()));
                let fields = read.attempt.unwrap();
                assert_eq!(fields.one_of_many, matches!(event, Event::AttemptFailed(_)));
                assert_eq!((fields.method, fields.path), ("GET", "/healthz"));
                assert_eq!((fields.origin, fields.failure), (origin.as_str(), failure.to_string().as_str()));
            }
        }
    }

    #[test]
    fn any_other_line_has_no_fields_and_a_foreign_one_is_not_read() {
        let line = write(Level::Error, &"misconfigured: a rule");
        assert_eq!(
            read(&line),
            Some(Line { level: Level::Error, message: "misconfigured: a rule", attempt: None })
        );
        for foreign in ["thread 'main' panicked", "messageweave-lb: reloaded", "", "messageweave-lb: WARN"] {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
