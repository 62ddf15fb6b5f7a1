//! What is in force, on one line per start and reload. No secret is in it: a certificate and a key are
//! named by their files, origins are shown as `check` shows them, and of a policy document only how much
//! is in it.

use std::path::Path;

use messageweave_lb::policy::settings::Settings;
use serde_json::{Map, Value, json};

use super::Addresses;
use crate::arguments::ServeArguments;
use crate::check;
use crate::instance::Engine;
use crate::journal::{self, Level, LogFormat};

/// What `check` would print: in JSON its errors alone, for the rest is in the line.
pub(super) fn report(settings: &Settings) {
    match journal::format() {
        LogFormat::Text => journal::show(&check::report(settings)),
        LogFormat::Json => {
            settings
                .errors()
                .iter()
                .for_each(|error| journal::say(Level::Error, &format_args!("error: {error}")));
        }
    }
}

pub(super) fn members(
    arguments: &ServeArguments,
    (file, engine): (&Path, &Engine),
    addresses: &Addresses,
    settings: &Settings,
) -> Map<String, Value> {
    let mut members = Map::new();
    let mut tell = |name: &str, value: Value| members.insert(name.to_owned(), value);
    let shown = |path: &Path| path.display().to_string();
    tell("version", env!("CARGO_PKG_VERSION").into());
    tell("component", shown(file).into());
    tell("wasi_http", engine.world().version().into());
    tell("listen", addresses.clients.iter().map(ToString::to_string).collect());
    tell(
        "cert",
        arguments.cert.as_deref().map_or_else(|| "localhost, made at start".to_owned(), shown).into(),
    );
    tell("key", arguments.key.as_deref().map(shown).into());
    tell("ca", arguments.ca.iter().map(|file| shown(file)).collect());
    tell("resolve", arguments.resolve.iter().map(ToString::to_string).collect());
    tell("env_file", arguments.environment.env_file.as_deref().map(shown).into());
    tell("demo", arguments.demo.into());
    tell("log", json!(format!("{:?}", arguments.reports.log).to_ascii_lowercase()));
    tell("access_log", arguments.reports.access_log.into());
    tell("metrics", addresses.scraper.map(|address| address.to_string()).into());
    let limits = &arguments.limits;
    tell("max_head_bytes", limits.max_head_bytes.into());
    tell("max_head_fields", limits.max_head_fields.into());
    tell("head_timeout_ms", limits.head_timeout_ms.get().into());
    tell("idle_timeout_ms", limits.idle_timeout_ms.get().into());
    tell("max_connections", limits.max_connections.get().into());
    tell("instances", limits.instances.into());
    tell("max_instances", limits.max_instances.into());
    tell("instance_memory", limits.memory_of(engine.world()).into());
    tell("origins", settings.origins().iter().map(|origin| origin.as_str()).collect());
    for (name, value) in check::values(settings) {
        tell(name, value);
    }
    let policy = settings.policy.as_ref();
    tell(
        "LB_POLICY_JSON",
        policy
            .map(|policy| json!({ "routes": policy.routes.iter().count(), "limits": policy.limits.len() }))
            .into(),
    );
    tell("LB_ENV", json!({ "limits_off": settings.limits_off }));
    members
}
