//! The role that logs: Envoy's router tells it each failed try, and it writes the policy's line
//! (contract 2.9). Successes are filtered out before by Envoy.

use crate::environment::settings;
use crate::failure::classify;
use crate::hostcalls::{self};
use crate::redirects::ENDPOINT;
use messageweave_lb::policy::event::{Attempt, Event};
use messageweave_lb::policy::failure::{Exhausted, Failure};
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::safelist::Target;
use proxy_wasm::traits::{Context, HttpContext};

/// One failed try.
pub(crate) struct FailedTry;

impl Context for FailedTry {}

impl HttpContext for FailedTry {
    fn on_log(&mut self) {
        // A try of a redirect hop has no target on the safelist: the filter in front tells of it.
        if let (Some(target), Some(exhausted)) = (target(), exhausted()) {
            Event::AttemptFailed(Attempt::new(&target, &exhausted)).emit();
        }
    }
}

fn target() -> Option<Target> {
    let text = |name| String::from_utf8(hostcalls::property(&["request", name])?).ok();
    Target::of_record(&text("path")?, &text("method")?)
}

/// What the try did, and which origin.
pub(crate) fn exhausted() -> Option<Exhausted<'static>> {
    let origin = hostcalls::property(&ENDPOINT)?;
    let origin = settings().origins().iter().find(|known| known.as_str().as_bytes() == origin)?;
    Some(Exhausted { origin, failure: failure(origin) })
}

fn failure(_: &Origin) -> Failure {
    let number = |path: &[&str]| {
        let bytes = hostcalls::property(path)?;
        Some(i64::from_le_bytes(bytes.try_into().ok()?))
    };
    let code = number(&["response", "code"]).and_then(|code| u16::try_from(code).ok());
    let details = hostcalls::property(&["response", "code_details"]).unwrap_or_default();
    let reason = hostcalls::property(&["upstream", "transport_failure_reason"]).unwrap_or_default();
    log::info!(
        "debug: code {code:?} details {:?} reason {:?} flags {:?}",
        String::from_utf8_lossy(&details),
        String::from_utf8_lossy(&reason),
        number(&["response", "flags"])
    );
    match code {
        Some(code) if code >= 500 && (details.is_empty() || details == b"via_upstream") => {
            Failure::Status(code)
        }
        _ => Failure::Class(classify(&details, &reason)),
    }
}
