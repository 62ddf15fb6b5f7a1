//! The response on its way to the client: an answer passes untouched, the last failure becomes the
//! policy's `503` (contract 2.6).

use crate::attempts;
use crate::cluster::start_of;
use crate::environment::settings;
use crate::hostcalls::{self, Section};
use crate::marker::Marker;
use crate::streams::Passed;
use crate::wiring::{ANSWERED_FIELD, FORWARDED_PROTO, HIDDEN_LOCATION, HOP_FIELD};
use messageweave_lb::policy::event::{Attempt, Event};
use messageweave_lb::policy::exchange::BACKEND_FIELD;
use messageweave_lb::policy::failure::{Exhausted, Failure, FailureClass};
use messageweave_lb::policy::redirect::MAX_HOPS;
use messageweave_lb::policy::reply::Reply;
use proxy_wasm::types::{Action, Status};

/// Judges the head of a response.
pub(crate) fn judge(passed: &Passed) -> Result<Action, Status> {
    match passed {
        Passed::No => return Ok(Action::Continue),
        Passed::Replied(content_type) => {
            // Envoy drops the type of an empty body.
            hostcalls::set_field(Section::Response, "content-type", content_type)?;
            return Ok(Action::Continue);
        }
        Passed::Planned { .. } | Passed::Redirected(_) => {}
    }
    let status = status();
    match Failure::of_status(status) {
        // Envoy may have made it in the place of an origin: the failure is that of the last try.
        Some(_) => fail(passed, None),
        None if (300..400).contains(&status) => redirect(passed),
        None => answer(passed),
    }
}

/// The status of the response at hand.
pub(crate) fn status() -> u16 {
    let digits = hostcalls::field(Section::Response, ":status").unwrap_or_default();
    std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// The router fills in the origin of an answer; of a hop's only the filter knows it.
fn answer(passed: &Passed) -> Result<Action, Status> {
    if let Passed::Redirected(chain) = passed
        && let Some(origin) = chain.chosen()
    {
        hostcalls::remove_field(Section::Response, ANSWERED_FIELD)?;
        hostcalls::set_field(Section::Response, BACKEND_FIELD, origin.as_str().as_bytes())?;
    }
    Ok(Action::Continue)
}

/// A redirect that the router did not follow: too many, a body that is gone, or one that the policy
/// passes on.
fn redirect(passed: &Passed) -> Result<Action, Status> {
    if let Some(marker) =
        hostcalls::field(Section::Response, HOP_FIELD).and_then(|bytes| Marker::decode(&bytes))
    {
        if matches!(passed, Passed::Redirected(chain) if chain.hops >= MAX_HOPS) {
            return fail(passed, Some(Failure::Class(FailureClass::Protocol)));
        }
        hostcalls::remove_field(Section::Response, HOP_FIELD)?;
        hostcalls::remove_field(Section::Response, FORWARDED_PROTO)?;
        hostcalls::set_field(Section::Response, ":status", marker.status.to_string().as_bytes())?;
        match marker.location.as_slice() {
            [] => hostcalls::remove_field(Section::Response, "location")?,
            location => hostcalls::set_field(Section::Response, "location", location)?,
        }
    } else {
        let fields = hostcalls::plain(hostcalls::fields(Section::Response));
        for value in fields.all(HIDDEN_LOCATION) {
            hostcalls::add_field(Section::Response, "location", value)?;
        }
        if fields.first(HIDDEN_LOCATION).is_some() {
            hostcalls::remove_field(Section::Response, HIDDEN_LOCATION)?;
        }
    }
    answer(passed)
}

/// Every try failed, or the filter knows of a hop's failure that the router took for an answer.
fn fail(passed: &Passed, known: Option<Failure>) -> Result<Action, Status> {
    let (target, told, untold) = match passed {
        Passed::No | Passed::Replied(_) => return Ok(Action::Continue),
        Passed::Planned { target, attempts } => (target, attempts::exhausted(), unresolved(*attempts)),
        Passed::Redirected(chain) => {
            let failure = known.or_else(|| attempts::exhausted().map(|exhausted| exhausted.failure));
            let failure = failure.unwrap_or(Failure::Class(FailureClass::Dns));
            (&chain.target, None, chain.chosen().map(|origin| Exhausted { origin, failure }))
        }
    };
    let Some(exhausted) = told.or(untold) else {
        return Ok(Action::Continue);
    };
    // The router's own log has told of its tries.
    if told.is_none() {
        Event::AttemptFailed(Attempt::new(target, &exhausted)).emit();
    }
    Event::RequestExhausted(Attempt::new(target, &exhausted)).emit();
    hostcalls::reply(&Reply::exhausted(&exhausted))?;
    Ok(Action::Pause)
}

/// No origin of the rotation has an address, so none was tried: the last of the order is named.
fn unresolved(attempts: u32) -> Option<Exhausted<'static>> {
    let origins = settings().origins();
    let start = start_of(&attempts::cluster()?)?;
    let last = start.saturating_add(usize::try_from(attempts).ok()?.saturating_sub(1));
    let origin = origins.get(last.checked_rem(origins.len())?)?;
    Some(Exhausted { origin, failure: Failure::Class(FailureClass::Dns) })
}
