//! Compares what happened with what a case expects: the one place where a case can pass.

mod answer;
mod lines;
mod upstream;

use std::fmt;

pub use upstream::upstream_fault;

use crate::case::{Case, Place, Step};
use crate::evidence::{Evidence, Outcome};

/// One thing in which a run differs from its case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where; absent: nowhere that an exception can name.
    pub place: Option<Place>,
    text: String,
}

impl Difference {
    /// A difference in a place of the case.
    #[must_use]
    pub fn at(place: Place, text: impl Into<String>) -> Self {
        Self { place: Some(place), text: text.into() }
    }

    /// The run itself went wrong, or what no case may contain happened.
    #[must_use]
    pub fn of_the_run(text: impl Into<String>) -> Self {
        Self { place: None, text: text.into() }
    }

    /// The same, with a word on the run that it is from.
    #[must_use]
    pub fn told(self, run: &str) -> Self {
        Self { text: format!("{run}: {}", self.text), ..self }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(formatter, "{place}: {}", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}

/// Everything in which the evidence differs from the case.
#[must_use]
pub fn differences(case: &Case, evidence: &Evidence) -> Vec<Difference> {
    let mut differences: Vec<Difference> = evidence.crashes.iter().map(Difference::of_the_run).collect();
    for (index, step) in case.step.iter().enumerate() {
        let found = match evidence.outcomes.get(index) {
            Some(outcome) => answer::faults(&step.answer, outcome),
            None => vec!["was never sent".to_owned()],
        };
        let place = Place::Step(index + 1);
        differences.extend(found.into_iter().map(|text| Difference::at(place, text)));
    }
    differences.extend(group_faults(case, evidence));
    differences.extend(evidence.unused.iter().map(|text| Difference::at(Place::SCRIPT, text)));
    differences.extend(log_faults(case, evidence));
    differences
}

/// What origins saw of a group stands with its first step.
fn group_faults(case: &Case, evidence: &Evidence) -> Vec<Difference> {
    let mut faults = Vec::new();
    let mut first = 1;
    for (index, group) in groups(case).iter().enumerate() {
        let seen = evidence.upstream.get(index).map_or(&[][..], Vec::as_slice);
        let upstream = upstream_fault(group, seen).map(|text| format!("upstream: {text}"));
        let complaints = evidence.complaints.get(index).into_iter().flatten().cloned();
        let place = Place::Step(first);
        faults.extend(complaints.chain(upstream).map(|text| Difference::at(place, text)));
        first += group.len();
    }
    faults
}

/// The steps by group: a step and those that are sent with it.
#[must_use]
pub fn groups(case: &Case) -> Vec<Vec<&Step>> {
    let mut groups: Vec<Vec<&Step>> = Vec::new();
    for step in &case.step {
        match groups.last_mut() {
            Some(group) if step.with_previous => group.push(step),
            _ => groups.push(vec![step]),
        }
    }
    groups
}

fn log_faults(case: &Case, evidence: &Evidence) -> Vec<Difference> {
    let mut faults = Vec::new();
    if let Some(lines) = &case.log.lines
        && *lines != evidence.log
    {
        let text = format!("expected {lines:#?}, got {:#?}", evidence.log);
        faults.push(Difference::at(Place::LOG, text));
    }
    for text in &case.log.never {
        if evidence.noise.contains(text) || evidence.log.iter().any(|line| line.contains(text)) {
            faults.push(Difference::of_the_run(format!("log: {text:?} is in what the host printed")));
        }
        if evidence.outcomes.iter().any(|outcome| mentions(outcome, text)) {
            faults.push(Difference::of_the_run(format!("answer: {text:?} is in it")));
        }
    }
    faults
}

fn mentions(outcome: &Outcome, text: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(text.len().max(1)).any(|part| part == text.as_bytes());
    match outcome {
        Outcome::Answer(received) => {
            has(received.body.start()) || received.headers.iter().any(|(_, value)| has(value))
        }
        _ => false,
    }
}
