//! The configuration, read once in the life of an instance.

use super::log;
use crate::policy::settings::Settings;
use std::ffi::OsString;
use std::sync::OnceLock;

/// The settings of this instance.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        log::install();
        // A value that is no UTF-8 is bad, not absent: the policy says so under its key.
        let settings = Settings::from_vars(|name| Some(variable(name)?.to_string_lossy().into_owned()));
        settings.announce();
        settings
    })
}

#[expect(clippy::disallowed_methods, reason = "the shells read what the policy is handed")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
