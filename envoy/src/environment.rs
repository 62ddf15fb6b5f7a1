//! What is the same for all requests of a VM: the settings, the dice, the log.

use crate::hostcalls;
use log::{LevelFilter, Log, Metadata, Record};
use messageweave_lb::policy::routes::Target;
use messageweave_lb::policy::settings::Settings;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// The configuration. Other variables mean another VM, so it is read once.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        // Fails only if a logger is set already, which nobody else does.
        let _ = log::set_logger(&EnvoyLog);
        log::set_max_level(LevelFilter::Info);
        Settings::from_vars(|name| std::env::var(name).ok())
    })
}

/// The target of a request that was admitted earlier, from Envoy's own record of it.
pub(crate) fn target(path_with_query: &str, method: &str) -> Option<Target> {
    settings().policy.as_ref()?.routes.of_record(path_with_query, method)
}

thread_local! {
    static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
}

/// Dice without a hostcall: SplitMix64 from a random seed. They spread load and guard nothing.
pub(crate) fn dice() -> u64 {
    STATE.with(|state| {
        let next = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

struct EnvoyLog;

impl Log for EnvoyLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        // A line that nobody takes must not cost an answer.
        let _ = hostcalls::log(record.level(), &record.args().to_string());
    }

    fn flush(&self) {}
}
