//! The answer of one step.

use serde_json::Value;

use super::lines::{absent, exact, present, required};
use crate::case::{Answer, Arrival, Ends, Within};
use crate::evidence::{Content, Outcome, Received};

/// What the host may add or choose (contract 2.5).
const HOSTS_OWN: &[&str] =
    &["date", "via", "connection", "keep-alive", "content-length", "transfer-encoding"];

pub(super) fn faults(expected: &Answer, outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Answer(received) if !expected.status.is_empty() => answer_faults(expected, received),
        Outcome::Refused(_) if expected.refused || expected.or_refused => Vec::new(),
        Outcome::Gone if expected.gone => Vec::new(),
        Outcome::Answer(received) => vec![format!("no answer expected, got {received:?}")],
        Outcome::Refused(why) => vec![format!("closed without an answer ({why})")],
        Outcome::Gone => vec!["the client left, and the case expects an answer".to_owned()],
        Outcome::Hung => vec!["no end within the driver's bound".to_owned()],
        Outcome::Unplayable(why) => vec![format!("cannot be sent by this driver: {why}")],
    }
}

fn answer_faults(expected: &Answer, got: &Received) -> Vec<String> {
    let mut faults = Vec::new();
    if !expected.status.contains(&got.status) {
        let (wanted, body) = (&expected.status, &got.body);
        faults.push(format!("status: expected {wanted:?}, got {} {body:?}", got.status));
    }
    faults.extend(required(&expected.headers, &got.headers));
    if let Some(lines) = &expected.exact_headers {
        faults.extend(exact(lines, &got.headers, HOSTS_OWN));
    }
    faults.extend(present(&expected.present, &got.headers));
    faults.extend(absent(&expected.absent, &got.headers));
    faults.extend(expected.fill_fields.and_then(|count| fill_fault(count, got)));
    faults.extend(ends_fault(expected, got));
    faults.extend(body_fault(expected, got));
    faults.extend(time_fault("head_ms", &expected.head_ms, got.head_ms));
    faults.extend(time_fault("whole_ms", &expected.whole_ms, got.whole_ms));
    faults.extend(expected.arrivals.iter().filter_map(|arrival| arrival_fault(arrival, got)));
    faults
}

fn fill_fault(count: usize, got: &Received) -> Option<String> {
    let came = (0..count).filter(|n| {
        let name = format!("x-fill-{n}");
        got.headers.iter().filter(|(known, value)| *known == name && value == b"v").count() == 1
    });
    let came = came.count();
    (came != count).then(|| format!("fill_fields: {came} of {count} came"))
}

fn ends_fault(expected: &Answer, got: &Received) -> Option<String> {
    match (expected.ends, &got.broken) {
        (Ends::Whole, Some(why)) => Some(format!("ends: broken off ({why}) after {:?}", got.body)),
        (Ends::Broken, None) => Some(format!("ends: whole, with {:?}", got.body)),
        _ => None,
    }
}

fn body_fault(expected: &Answer, got: &Received) -> Option<String> {
    if let Some(json) = &expected.json {
        let wanted: Value = serde_json::from_str(json).ok()?;
        let found = serde_json::from_slice::<Value>(got.body.start());
        return (found.ok().as_ref() != Some(&wanted))
            .then(|| format!("json: expected {wanted}, got {:?}", got.body));
    }
    let body = expected.body.as_ref()?;
    let most = if expected.ends == Ends::Broken { got.body.len() } else { u64::MAX };
    let wanted = Content::of(body, most);
    (wanted != got.body).then(|| format!("body: expected {wanted:?}, got {:?}", got.body))
}

fn time_fault(key: &str, within: &Within, got: u64) -> Option<String> {
    let early = within.min.is_some_and(|min| got < min);
    let late = within.max.is_some_and(|max| got > max);
    (early || late).then(|| format!("{key}: {got} is not within {within:?}"))
}

fn arrival_fault(arrival: &Arrival, got: &Received) -> Option<String> {
    let came = got.arrivals.iter().find(|(bytes, _)| *bytes >= arrival.bytes);
    let Some((_, at)) = came else {
        return Some(format!("arrivals: byte {} never came", arrival.bytes));
    };
    let within = Within { min: arrival.min, max: arrival.max };
    time_fault(&format!("arrival of byte {}", arrival.bytes), &within, *at)
}
