//! `check`: the effective settings, or every error by key and rule, in the policy's own words.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use messageweave_lb::policy::safelist::{HEALTH_PATH, Job, Method, ROUTES};
use messageweave_lb::policy::settings::Settings;

use crate::arguments::CheckArguments;
use crate::environment::Variables;
use crate::envoy;

/// Prints the report; only here does a bad configuration make a process fail.
pub(crate) fn run(arguments: CheckArguments) -> ExitCode {
    let variables = match Variables::load(&arguments.environment) {
        Ok(variables) => variables,
        Err(error) => {
            eprintln!("messageweave-lb: {error}");
            return ExitCode::FAILURE;
        }
    };
    let settings = settings(&variables);
    if let Some(file) = &arguments.envoy_config
        && let Err(error) = rendered_for(file, &settings)
    {
        eprint!("{}", report(&settings));
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    if settings.errors().is_empty() {
        print!("{}", report(&settings));
        ExitCode::SUCCESS
    } else {
        eprint!("{}", report(&settings));
        ExitCode::FAILURE
    }
}

/// Whether a configuration of Envoy has clusters for these origins.
fn rendered_for(file: &Path, settings: &Settings) -> Result<(), String> {
    let rendered = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    envoy::differs(&rendered, settings)
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
    writeln!(text, "LB_REQUEST_TIMEOUT_MS      {}", settings.request_timeout.0)?;
    writeln!(text, "LB_MAX_ATTEMPTS            {}", settings.max_attempts)?;
    writeln!(text, "LB_RECONCILE_TIMEOUT_MS    {}", settings.reconcile_timeout.0)?;
    writeln!(text, "LB_WORKER_TIMEOUT_MS       {}", settings.worker_timeout.0)?;
    writeln!(text, "LB_HEALTH_TTL_MS           {}", settings.health_ttl.0)?;
    writeln!(text, "LB_VERSION                 {}", settings.version.escape_debug())?;
    writeln!(
        text,
        "LB_TRUST_FORWARDED_PROTO   {}",
        if settings.trust_forwarded_proto { "on" } else { "off" }
    )?;
    writeln!(text, "LB_REPLAY_MAX_BYTES        {}", settings.replay_max_bytes)?;
    writeln!(text, "routes (methods, attempts, time for each):")?;
    for route in &ROUTES {
        write_route(text, settings, route.path, route.methods, route.job)?;
    }
    writeln!(text, "  {HEALTH_PATH:<34} GET        the balancer's own")
}

fn write_route(
    text: &mut String,
    settings: &Settings,
    path: &str,
    methods: &[Method],
    job: Job,
) -> std::fmt::Result {
    let methods: Vec<_> = methods.iter().map(|method| method.as_str()).collect();
    let (attempts, timeout) = (settings.attempts(job), settings.timeout(job).0);
    writeln!(text, "  {path:<34} {:<9}  {attempts} x {timeout} ms", methods.join(" "))
}
