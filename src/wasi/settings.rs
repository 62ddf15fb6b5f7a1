//! The configuration, read once in the life of an instance.

use super::log;
use crate::policy::settings::Settings;
use std::sync::OnceLock;

/// The settings of this instance; `environment` is asked at the first call alone.
pub(crate) fn settings(environment: impl FnOnce() -> Vec<(String, String)>) -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        log::install();
        let variables = environment();
        Settings::from_vars(|name| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        })
    })
}
