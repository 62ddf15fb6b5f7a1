//! What the types cannot say: combinations of keys that would make a case vacuous or unplayable.

use std::collections::BTreeSet;

use url::Url;

use super::{Answer, Case, Origin, Protocol, Request, RequestFault, Seen, Step, Turn};

const VARIABLES: &[&str] = &[
    "BACKEND_ORIGINS_JSON",
    "LB_REQUEST_TIMEOUT_MS",
    "LB_MAX_ATTEMPTS",
    "LB_RECONCILE_TIMEOUT_MS",
    "LB_WORKER_TIMEOUT_MS",
    "LB_HEALTH_TTL_MS",
    "LB_VERSION",
    "LB_TRUST_FORWARDED_PROTO",
    "LB_REPLAY_MAX_BYTES",
    "LB_POLICY_JSON",
    "LB_ENV",
];

pub(super) fn validate(case: &Case) -> Result<(), String> {
    rule(!case.why.trim().is_empty(), "why: says nothing")?;
    rule(!case.step.is_empty(), "step: at least one is needed")?;
    for name in case.env.keys() {
        rule(VARIABLES.contains(&name.as_str()), &format!("env.{name}: not a documented variable"))?;
    }
    let mut urls = BTreeSet::new();
    for origin in &case.origin {
        let url = &origin.url;
        rule(urls.insert(url.as_str()), &format!("origin {url}: named twice"))?;
        validate_origin(origin).map_err(|rule| format!("origin {url}: {rule}"))?;
    }
    validate_first(case)?;
    for (index, step) in case.step.iter().enumerate() {
        validate_step(case, index, step).map_err(|rule| format!("step {}: {rule}", index + 1))?;
    }
    Ok(())
}

fn rule(holds: bool, text: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text.to_owned()) }
}

fn validate_first(case: &Case) -> Result<(), String> {
    let Some(first) = &case.first else {
        return Ok(());
    };
    let origin = case.origin.iter().find(|origin| origin.url == *first);
    let origin = origin.ok_or_else(|| format!("first: no origin is named {first}"))?;
    rule(
        origin.connect.is_none() || case.log.lines.is_some(),
        "first: a start that no connection reaches shows in the log alone: give log.lines",
    )
}

fn validate_origin(origin: &Origin) -> Result<(), String> {
    let url = Url::parse(&origin.url).map_err(|error| format!("url: {error}"))?;
    let spelt = url.as_str().trim_end_matches('/');
    rule(url.scheme() == "https" && spelt == origin.url, &format!("url: spelt {spelt}, https only"))?;
    if origin.connect.is_some() {
        return rule(origin.script.is_empty(), "connect: nothing reaches it, so it has no script");
    }
    let last = origin.script.len().saturating_sub(1);
    for (index, turn) in origin.script.iter().enumerate() {
        rule(!turn.repeat || index == last, &format!("turn {}: only the last turn repeats", index + 1))?;
        validate_turn(turn, origin.version).map_err(|rule| format!("turn {}: {rule}", index + 1))?;
    }
    Ok(())
}

fn validate_turn(turn: &Turn, version: Protocol) -> Result<(), String> {
    let kinds = [turn.connection.is_some(), turn.fault.is_some(), turn.status.is_some()];
    rule(
        kinds.iter().filter(|kind| **kind).count() == 1,
        "exactly one of connection, fault, status is needed",
    )?;
    let answer_keys = !turn.headers.is_empty()
        || turn.body.is_some()
        || turn.echo
        || turn.length.is_some()
        || turn.fill_fields > 0
        || turn.fill_bytes > 0
        || turn.close.is_some();
    rule(turn.status.is_some() || !answer_keys, "the keys of an answer need a status")?;
    rule(
        turn.connection.is_none()
            || (turn.delay_ms == 0 && turn.read_bytes.is_none() && turn.interim.is_empty()),
        "connection: no request comes, so there is nothing to read or delay",
    )?;
    rule(!(turn.echo && turn.body.is_some()), "echo and body exclude each other")?;
    let h2_only = matches!(
        turn.fault,
        Some(RequestFault::Goaway | RequestFault::RefusedStream | RequestFault::RstStream)
    );
    let h1_only = matches!(
        turn.fault,
        Some(
            RequestFault::HalfHead
                | RequestFault::HalfHeadReset
                | RequestFault::HalfHeadSilence
                | RequestFault::Garbage
        )
    );
    rule(!h2_only || version == Protocol::Http2, "fault: needs version = \"2\"")?;
    rule(!h1_only || version == Protocol::Http1, "fault: needs version = \"1.1\"")
}

fn validate_step(case: &Case, index: usize, step: &Step) -> Result<(), String> {
    rule(index > 0 || !step.with_previous, "with_previous: there is none")?;
    validate_request(&step.request)?;
    validate_answer(&step.answer)?;
    for seen in &step.upstream {
        validate_seen(case, seen)?;
    }
    Ok(())
}

fn validate_request(request: &Request) -> Result<(), String> {
    if request.raw.is_some() {
        let others = request.target.is_empty() && request.headers.is_empty() && request.body.is_none();
        return rule(others, "request: raw is the whole request");
    }
    rule(!request.target.is_empty(), "request.target: is needed")?;
    rule(request.length.is_none() || request.body.is_some(), "request.length: needs a body (\"\" will do)")?;
    for (name, _) in &request.headers {
        let framing =
            ["host", "content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own));
        rule(!framing, &format!("request.headers: {name} has a key of its own (or use raw)"))?;
    }
    Ok(())
}

fn validate_answer(answer: &Answer) -> Result<(), String> {
    let compared = !answer.status.is_empty();
    let exclusive = [compared && !answer.or_refused, answer.refused, answer.gone, answer.or_refused];
    rule(
        exclusive.iter().filter(|kind| **kind).count() == 1,
        "answer: exactly one of status, refused, gone (or status with or_refused) is needed",
    )?;
    rule(!answer.or_refused || compared, "answer.or_refused: needs the status of the answer that may come")?;
    rule(answer.body.is_none() || answer.json.is_none(), "answer: body and json exclude each other")?;
    if let Some(json) = &answer.json {
        serde_json::from_str::<serde_json::Value>(json).map_err(|error| format!("answer.json: {error}"))?;
    }
    Ok(())
}

fn validate_seen(case: &Case, seen: &Seen) -> Result<(), String> {
    let origin = case.origin.iter().find(|origin| origin.url == seen.origin);
    let origin = origin.ok_or_else(|| format!("upstream: no origin is named {}", seen.origin))?;
    rule(origin.connect.is_none(), &format!("upstream: nothing reaches {}", seen.origin))
}
