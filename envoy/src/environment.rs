//! What is the same for all requests of a VM: the settings, the log.

use crate::hostcalls;
use log::{LevelFilter, Log, Metadata, Record};
use messageweave_lb::policy::routes::Target;
use messageweave_lb::policy::settings::Settings;
use std::sync::OnceLock;

/// The configuration. Other variables mean another VM, so it is read once.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        // Fails only if a logger is set already, which nobody else does.
        let _ = log::set_logger(&EnvoyLog);
        log::set_max_level(LevelFilter::Info);
        Settings::from_vars(variable)
    })
}

/// A variable of the VM, as the rendered configuration gives it.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The target of a request that was admitted earlier, from Envoy's own record of it.
pub(crate) fn target(path_with_query: &str, method: &str) -> Option<Target> {
    settings().policy.as_ref()?.routes.of_record(path_with_query, method)
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
