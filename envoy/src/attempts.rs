//! The role that logs: Envoy's router tells it each failed try, and it writes the policy's line
//! (contract 2.9). Successes are filtered out before by Envoy.

use crate::cluster::{Connecting, is_hop};
use crate::environment::{settings, target};
use crate::failure::Account;
use crate::hostcalls;
use crate::redirects::ENDPOINT;
use messageweave_lb::policy::event::{Attempt, Event};
use messageweave_lb::policy::failure::{Exhausted, Failure};
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::routes::Target;

/// One failed try is at hand. Envoy calls the plugin itself for it, not a context of its own.
pub(crate) fn log() {
    // A redirect hop is told by the filter in front, which knows what the client asked for.
    if cluster().is_some_and(|name| is_hop(&name)) {
        return;
    }
    if let (Some(target), Some(exhausted)) = (asked(), exhausted()) {
        Event::AttemptFailed(Attempt::new(&target, &exhausted)).emit();
    }
}

fn asked() -> Option<Target> {
    let text = |name| String::from_utf8(hostcalls::property(&["request", name])?).ok();
    target(&text("path")?, &text("method")?)
}

/// The cluster to which the request went.
pub(crate) fn cluster() -> Option<Vec<u8>> {
    hostcalls::property(&["xds", "cluster_name"])
}

/// What the try did, and which origin.
pub(crate) fn exhausted() -> Option<Exhausted<'static>> {
    Some(Exhausted { origin: origin()?, failure: failure()? })
}

/// The origin that was tried last.
pub(crate) fn origin() -> Option<&'static Origin> {
    let origin = hostcalls::property(&ENDPOINT)?;
    settings().origins().iter().find(|known| known.as_str().as_bytes() == origin)
}

/// Nothing when there was an answer, whatever became of its body.
fn failure() -> Option<Failure> {
    let code = number(&["response", "code"]).map(|code| u16::try_from(code).unwrap_or(u16::MAX));
    let details = hostcalls::property(&["response", "code_details"]).unwrap_or_default();
    let is_of_origin = details.is_empty() || details == b"via_upstream";
    match code.map(|code| (code, Failure::of_status(code))) {
        Some((_, Some(Failure::Status(_)))) if !is_of_origin => {}
        Some((1.., seen)) => return seen,
        Some((0, _)) | None => {}
    }
    // Envoy's own word for what happened.
    Some(Failure::Class(account(details).class()))
}

fn account(details: Vec<u8>) -> Account {
    const NANOS_PER_MILLI: u64 = 1_000_000;
    let waited = number(&["request", "duration"]).unwrap_or_default() / NANOS_PER_MILLI;
    let bound = Connecting::named(&cluster().unwrap_or_default()).bound(settings());
    Account {
        details,
        reason: hostcalls::property(&["upstream", "transport_failure_reason"]).unwrap_or_default(),
        flags: number(&["response", "flags"]).unwrap_or_default(),
        // The clock of the connection and that of the try are two: they need not agree to the millisecond.
        waited: waited >= bound / 10 * 9,
    }
}

fn number(path: &[&str]) -> Option<u64> {
    let bytes = hostcalls::property(path)?;
    u64::try_from(i64::from_le_bytes(bytes.try_into().ok()?)).ok()
}
