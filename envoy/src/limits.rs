//! The rate limits of one Envoy: all workers count together, in data that they share. Nothing there
//! can be locked, so a part of the table is loaded, counted in, and stored if nobody else stored it
//! meanwhile; else once more.

use crate::environment::settings;
use crate::hostcalls;
use crate::wiring::LIMIT_STATES;
use messageweave_lb::policy::limit::answer::Usage;
use messageweave_lb::policy::limit::gate::Gate;
use messageweave_lb::policy::limit::key::Secret;
use messageweave_lb::policy::limit::parts::Parts;
use messageweave_lb::policy::limit::table::Counted;
use messageweave_lb::policy::limit::window::Hit;
use messageweave_lb::policy::time::Millis;
use proxy_wasm::types::Status;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

const SECRET: &str = "lb.limit.secret";
const OVERFLOW: &str = "lb.limit.overflow";

/// More workers than that at one part at one moment, all of them faster, are not to be feared: then
/// a request goes by without being remembered.
const TRIES: u32 = 64;

/// What a request said of its limit outlives a redirect. Once per plugin and worker.
pub(crate) fn declare() {
    for name in LIMIT_STATES {
        let _ = hostcalls::declare_property(name);
    }
}

/// Counts a request.
pub(crate) fn count(gate: &Gate<'_>) -> Hit {
    let (request, now) = (gate.request(secret()), hostcalls::now());
    let parts = Parts::new(settings().max_entries());
    let name = ["lb.limit.", &parts.place(request).to_string()].concat();
    let counted = swap(&name, |part| {
        let stored = parts.count_in(part, request, now);
        (stored.hit, stored.part)
    });
    counted.unwrap_or_else(|| count_over(request, now))
}

fn count_over(request: Counted, now: Millis) -> Hit {
    swap(OVERFLOW, |part| {
        let (hit, part) = Parts::count_over(part, request, now);
        (hit, Some(part))
    })
}

/// Replaces a shared value by what is made of it, unless nothing is.
fn swap<T>(name: &str, change: impl Fn(&[u8]) -> (T, Option<Vec<u8>>)) -> T {
    let mut tries = 0;
    loop {
        tries += 1;
        let (value, version) = hostcalls::shared(name);
        let (outcome, changed) = change(&value.unwrap_or_default());
        let Some(changed) = changed else { return outcome };
        if tries == TRIES || store(name, &changed, version) != Err(Status::CasMismatch) {
            return outcome;
        }
    }
}

/// A version that no value has: a value that another worker made meanwhile is left alone.
const ABSENT: u32 = u32::MAX;

fn store(name: &str, value: &[u8], version: Option<u32>) -> Result<(), Status> {
    hostcalls::share(name, value, Some(version.unwrap_or(ABSENT)))
}

/// The secret that the workers share: that of the first of them.
fn secret() -> Secret {
    static SHARED: OnceLock<Secret> = OnceLock::new();
    *SHARED.get_or_init(|| {
        let own = [dice(), dice()];
        let _ = store(SECRET, &own.map(u64::to_le_bytes).concat(), None);
        let shared = hostcalls::shared(SECRET).0;
        let words = shared.as_deref().and_then(|bytes| match bytes.as_chunks() {
            ([first, second], []) => Some([*first, *second].map(u64::from_le_bytes)),
            _ => None,
        });
        Secret::new(words.unwrap_or(own))
    })
}

/// Two of the standard library's random hash seeds, unlike any other two.
fn dice() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Leaves what a request has used where the rendered routes find it, for the answer.
pub(crate) fn tell(usage: Usage) -> Result<(), Status> {
    for ((_, value), name) in usage.fields().iter().zip(LIMIT_STATES) {
        hostcalls::set_property(name, value)?;
    }
    Ok(())
}
