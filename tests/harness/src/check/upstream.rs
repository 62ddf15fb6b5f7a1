//! The requests that origins saw because of a group of steps: this list, no more and no less.

use super::lines::{absent, exact, required};
use crate::case::{Complete, Seen, Step};
use crate::evidence::{Content, Progress, Recorded};

/// What is said by `framing`, and compared as a header only where a case names it.
const FRAMING: &[&str] = &["content-length", "transfer-encoding"];

/// The first difference between what a group of steps expects and what was seen.
#[must_use]
pub fn upstream_fault(group: &[&Step], seen: &[Recorded]) -> Option<String> {
    let expected: Vec<&Seen> = group.iter().flat_map(|step| &step.upstream).collect();
    if expected.len() != seen.len() {
        let seen: Vec<String> = seen.iter().map(brief).collect();
        return Some(format!("expected {} request(s), seen {seen:#?}", expected.len()));
    }
    let any_order = group.len() > 1 || group.iter().any(|step| step.any_order);
    if !any_order {
        return expected.iter().zip(seen).find_map(|(expected, seen)| {
            let faults = request_faults(expected, seen);
            (!faults.is_empty()).then(|| format!("{}: {}", brief(seen), faults.join("; ")))
        });
    }
    let mut left: Vec<&Recorded> = seen.iter().collect();
    for expected in expected {
        match left.iter().position(|seen| request_faults(expected, seen).is_empty()) {
            Some(index) => drop(left.swap_remove(index)),
            None => {
                let left: Vec<String> = left.iter().map(|seen| nearest(expected, seen)).collect();
                let Seen { origin, method, target, .. } = expected;
                return Some(format!("{origin} {method} {target:?} is none of {left:#?}"));
            }
        }
    }
    None
}

fn nearest(expected: &Seen, seen: &Recorded) -> String {
    format!("{}: {}", brief(seen), request_faults(expected, seen).join("; "))
}

fn brief(seen: &Recorded) -> String {
    let Recorded { origin, method, target, framing, body, progress, .. } = seen;
    format!("{origin} {method} {} {framing:?} {body:?} {progress:?}", target.escape_ascii())
}

fn request_faults(expected: &Seen, seen: &Recorded) -> Vec<String> {
    let mut faults = Vec::new();
    let mut differ = |key: &str, wanted: &str, got: &str| {
        if wanted != got {
            faults.push(format!("{key}: expected {wanted}, got {got}"));
        }
    };
    differ("origin", &expected.origin, &seen.origin);
    differ("method", &expected.method, &seen.method);
    let targets = (expected.target.0.escape_ascii(), seen.target.escape_ascii());
    differ("target", &targets.0.to_string(), &targets.1.to_string());
    if let Some(framing) = expected.framing {
        differ("framing", &format!("{framing:?}"), &format!("{:?}", seen.framing));
    }
    faults.extend(required(&expected.headers, &seen.headers));
    if let Some(lines) = &expected.exact_headers {
        faults.extend(exact(lines, &seen.headers, FRAMING));
    }
    faults.extend(absent(&expected.absent, &seen.headers));
    faults.extend(body_fault(expected, seen));
    if expected.abandoned.is_some_and(|abandoned| abandoned != seen.abandoned) {
        faults.push(format!("abandoned: {}", seen.abandoned));
    }
    faults
}

fn body_fault(expected: &Seen, seen: &Recorded) -> Option<String> {
    let fault = match (expected.complete, seen.progress) {
        (Complete::Yes, Progress::Complete) | (Complete::No, Progress::Broken) => None,
        (Complete::Either, _) => None,
        (Complete::Yes, _) => Some("its body is incomplete"),
        (Complete::No, Progress::Open) => Some("its body is still open"),
        (Complete::No, Progress::Complete) => Some("its body is complete"),
    };
    if let Some(fault) = fault {
        return Some(format!("{fault}: {:?}", seen.body));
    }
    let body = expected.body.clone().unwrap_or_default();
    let most = if expected.complete == Complete::Yes { u64::MAX } else { seen.body.len() };
    let wanted = Content::of(&body, most);
    (wanted != seen.body).then(|| format!("body: expected {wanted:?}, got {:?}", seen.body))
}
