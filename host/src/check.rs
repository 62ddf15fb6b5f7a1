//! `check`: the effective settings, or every error by key and rule, in the policy's own words.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use messageweave_lb::policy::document::Policy;
use messageweave_lb::policy::limit::rule::{ClientAddress, KeyKind};
use messageweave_lb::policy::route::{Matcher, Route};
use messageweave_lb::policy::safelist::HEALTH_PATH;
use messageweave_lb::policy::settings::Settings;
use serde_json::Value;

use crate::arguments::CheckArguments;
use crate::environment::Variables;
use crate::{envoy, output};

/// Prints the report; only here does a bad configuration make a process fail.
pub(crate) fn run(arguments: CheckArguments) -> ExitCode {
    let variables = match Variables::load(&arguments.environment) {
        Ok(variables) => variables,
        Err(error) => {
            return output::complain(&format!("messageweave-lb: {error}\n"));
        }
    };
    let settings = settings(&variables);
    if let Some(file) = &arguments.envoy_config
        && let Err(error) = rendered_for(file, &variables, &settings)
    {
        return output::complain(&format!("{}error: {error}\n", report(&settings)));
    }
    if settings.errors().is_empty() {
        output::print(&report(&settings))
    } else {
        output::complain(&report(&settings))
    }
}

/// Whether a configuration of Envoy was rendered from these variables.
fn rendered_for(file: &Path, variables: &Variables, settings: &Settings) -> Result<(), String> {
    let rendered = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    envoy::differs(&rendered, variables, settings)
}

pub(crate) fn settings(variables: &Variables) -> Settings {
    Settings::from_vars(|name| variables.get(name))
}

/// What `check` prints, which Envoy's runner prints at start too.
pub(crate) fn report_of(variables: &Variables) -> String {
    report(&settings(variables))
}

/// What `check` prints, and `serve` at start.
pub(crate) fn report(settings: &Settings) -> String {
    if !settings.errors().is_empty() {
        return settings
            .errors()
            .iter()
            .fold(String::new(), |text, error| text + "error: " + &error.to_string() + "\n");
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_settings(&mut text, settings);
    text
}

fn write_settings(text: &mut String, settings: &Settings) -> std::fmt::Result {
    writeln!(text, "origins, in order:")?;
    for origin in settings.origins() {
        writeln!(text, "  {}", origin.as_str())?;
    }
    for (name, value) in values(settings) {
        write!(text, "{name:<26} ")?;
        match value {
            Value::Bool(is_on) => writeln!(text, "{}", if is_on { "on" } else { "off" })?,
            Value::String(value) => writeln!(text, "{}", value.escape_debug())?,
            number => writeln!(text, "{number}")?,
        }
    }
    // Without a policy there are errors, and they are shown instead.
    settings.policy.as_ref().map_or(Ok(()), |policy| write_policy(text, settings, policy))
}

/// The variables of one value each, as they are in force.
pub(crate) fn values(settings: &Settings) -> [(&'static str, Value); 8] {
    [
        ("LB_REQUEST_TIMEOUT_MS", settings.request_timeout.0.into()),
        ("LB_MAX_ATTEMPTS", settings.max_attempts.into()),
        ("LB_RECONCILE_TIMEOUT_MS", settings.reconcile_timeout.0.into()),
        ("LB_WORKER_TIMEOUT_MS", settings.worker_timeout.0.into()),
        ("LB_HEALTH_TTL_MS", settings.health_ttl.0.into()),
        ("LB_VERSION", settings.version.clone().into()),
        ("LB_TRUST_FORWARDED_PROTO", settings.trust_forwarded_proto.into()),
        ("LB_REPLAY_MAX_BYTES", settings.replay_max_bytes.into()),
    ]
}

fn write_policy(text: &mut String, settings: &Settings, policy: &Policy) -> std::fmt::Result {
    writeln!(text, "routes (* stands for the rest of a path; methods, attempts, time for each, limit):")?;
    for route in policy.routes.iter() {
        write_route(text, settings, policy, route)?;
    }
    writeln!(text, "  {HEALTH_PATH:<34} GET        the balancer's own")?;
    if !policy.limits.is_empty() {
        let off = if settings.limits_off { ", all off: LB_ENV is dev" } else { "" };
        writeln!(text, "limits (at most {} entries in an instance{off}):", policy.max_entries)?;
    }
    for (place, limit) in policy.limits.iter().enumerate() {
        write!(text, "  {:<34} {} in {} s for ", limit.name, limit.limit, limit.window_s)?;
        let address = address(&limit.client_address);
        match limit.key {
            KeyKind::Ip => write!(text, "each client by {address}")?,
            KeyKind::User => write!(text, "each {}, without one by {address}", limit.user_header)?,
            KeyKind::Both => write!(text, "each {} and client by {address}", limit.user_header)?,
        }
        let is_used = policy.routes.iter().any(|route| route.limit == Some(place));
        writeln!(
            text,
            "; {}{}",
            limit.code.escape_debug(),
            if is_used { "" } else { "; no route names it" }
        )?;
    }
    Ok(())
}

/// Where a client's address comes from.
fn address(source: &ClientAddress) -> String {
    match source {
        ClientAddress::Header(name) => format!("the address in {name}"),
        ClientAddress::ForwardedForHops(hops) => format!("entry {hops} from the right of x-forwarded-for"),
        ClientAddress::Connection => {
            "its connection's address (told by Envoy alone: elsewhere all clients are one)".to_owned()
        }
    }
}

fn write_route(text: &mut String, settings: &Settings, policy: &Policy, route: &Route) -> std::fmt::Result {
    let path = match &route.matcher {
        Matcher::Exact(path) => path.to_string(),
        Matcher::Prefix(prefix) => format!("{prefix}*"),
    };
    let methods = route.methods.join(" ");
    let (attempts, timeout) = (settings.attempts(route.bounds), settings.timeout(route.bounds).0);
    write!(text, "  {path:<34} {methods:<9}  {attempts} x {timeout} ms")?;
    match route.limit.and_then(|place| policy.limits.get(place)) {
        Some(limit) => writeln!(text, "  {}", limit.name),
        None => writeln!(text),
    }
}
