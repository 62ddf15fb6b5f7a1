//! Compares what happened with what a case expects: the one place where a case can pass.

mod answer;
mod lines;
mod upstream;

pub use upstream::upstream_fault;

use crate::case::{Case, Step};
use crate::evidence::{Evidence, Outcome};

/// Everything in which the evidence differs from the case, one text each.
#[must_use]
pub fn differences(case: &Case, evidence: &Evidence) -> Vec<String> {
    let mut differences = evidence.complaints.clone();
    for (index, step) in case.step.iter().enumerate() {
        let found = match evidence.outcomes.get(index) {
            Some(outcome) => answer::faults(&step.answer, outcome),
            None => vec!["was never sent".to_owned()],
        };
        differences.extend(found.into_iter().map(|text| format!("step {}: {text}", index + 1)));
    }
    for (index, group) in groups(case).iter().enumerate() {
        let seen = evidence.upstream.get(index).map_or(&[][..], Vec::as_slice);
        let found = upstream_fault(group, seen);
        differences.extend(found.map(|text| format!("upstream of group {}: {text}", index + 1)));
    }
    differences.extend(log_faults(case, evidence));
    differences
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

fn log_faults(case: &Case, evidence: &Evidence) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(lines) = &case.log.lines
        && *lines != evidence.log
    {
        faults.push(format!("log: expected {lines:#?}, got {:#?}", evidence.log));
    }
    for text in &case.log.never {
        if evidence.noise.contains(text) || evidence.log.iter().any(|line| line.contains(text)) {
            faults.push(format!("log: {text:?} is in what the host printed"));
        }
        if evidence.outcomes.iter().any(|outcome| mentions(outcome, text)) {
            faults.push(format!("answer: {text:?} is in it"));
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
