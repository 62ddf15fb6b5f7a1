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
        Settings::from_vars(|name| variable(name)?.into_string().ok())
    })
}

#[expect(clippy::disallowed_methods, reason = "the shells read what the policy is handed")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
