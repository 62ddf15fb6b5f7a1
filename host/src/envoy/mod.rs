//! Envoy instead of the native host: `envoy-config` prints a complete bootstrap made from the same
//! variables by the same parser, `envoy` runs Envoy on it.

mod clusters;
mod filters;
mod limits;
mod listeners;
mod origins;
mod routes;
mod run;
mod watch;
mod yaml;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use messageweave_lb::policy::settings::Settings;
use serde_json::{Value, json};

use crate::arguments::{EnvoyArguments, EnvoyConfigArguments};
use crate::environment::Variables;
use crate::upstream::Routes;
use crate::{check, output};
use origins::Endpoint;

pub(crate) use origins::differs;
pub(crate) use run::run;
pub(crate) use watch::watch;

/// The filter, as the Makefile builds it.
const FILTER: &str = "dist/messageweave-lb-envoy.wasm";
/// What the system trusts, where Debian, Alpine and Envoy's own images keep it.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Everything that the rendered configuration is made from.
pub(crate) struct Rendering {
    pub(crate) variables: Variables,
    pub(crate) settings: Settings,
    endpoints: Vec<Endpoint>,
    listen: Vec<SocketAddr>,
    certificate: Option<(PathBuf, PathBuf)>,
    roots: PathBuf,
    filter: PathBuf,
    admin: Option<Value>,
}

/// `envoy-config`: prints it.
pub(crate) fn print(arguments: &EnvoyArguments) -> ExitCode {
    let rendered = Rendering::new(&arguments.config).map(|mut rendering| {
        rendering.admin = arguments.admin.map(listeners::socket_address);
        if let Ok(absolute) = std::path::absolute(&rendering.filter)
            && arguments.config.filter.is_none()
        {
            rendering.filter = absolute;
        }
        rendering.yaml()
    });
    match rendered {
        Ok(text) => output::print(&text),
        Err(error) => output::complain(&format!("messageweave-lb: {error}\n")),
    }
}

impl Rendering {
    /// Reads the variables. A bad configuration is rendered as such: without clusters, so that the
    /// filter says what is wrong.
    pub(crate) fn new(arguments: &EnvoyConfigArguments) -> Result<Self, String> {
        let variables = Variables::load(&arguments.environment).map_err(|error| error.to_string())?;
        let settings = check::settings(&variables);
        let routes = Routes::new(&arguments.resolve);
        let endpoints = settings.origins().iter().map(|origin| Endpoint::new(origin, &routes));
        Ok(Self {
            endpoints: endpoints.collect::<Result<_, _>>()?,
            listen: arguments.listen.clone(),
            certificate: arguments.cert.clone().zip(arguments.key.clone()),
            roots: arguments.ca.clone().unwrap_or_else(|| PathBuf::from(SYSTEM_ROOTS)),
            filter: arguments.filter.clone().unwrap_or_else(|| PathBuf::from(FILTER)),
            admin: None,
            variables,
            settings,
        })
    }

    /// Envoy's bootstrap (`envoy.config.bootstrap.v3.Bootstrap`).
    pub(crate) fn bootstrap(&self) -> Value {
        let mut bootstrap = json!({});
        if let Some(address) = &self.admin {
            set(&mut bootstrap, "admin", json!({ "address": address }));
        }
        set(
            &mut bootstrap,
            "static_resources",
            json!({
                "listeners": listeners::all(self),
                "clusters": clusters::all(self),
            }),
        );
        // What follows `#` is cut off by the policy, as everywhere; Envoy would refuse the request.
        set(
            &mut bootstrap,
            "layered_runtime",
            json!({ "layers": [{ "name": "static", "static_layer": {
            "envoy.reloadable_features.http_reject_path_with_fragment": false,
        } }] }),
        );
        set(
            &mut bootstrap,
            "overload_manager",
            json!({ "resource_monitors": [{
            "name": "envoy.resource_monitors.global_downstream_max_connections",
            "typed_config": {
                "@type": type_url("envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig"),
                "max_active_downstream_connections": 10_000,
            },
        }] }),
        );
        bootstrap
    }

    /// The same, for people.
    pub(crate) fn yaml(&self) -> String {
        yaml::write(&self.bootstrap())
    }

    fn file(path: &Path) -> Value {
        json!({ "filename": path.display().to_string() })
    }
}

/// The `@type` of a message.
fn type_url(message: &str) -> String {
    ["type.googleapis.com/", message].concat()
}

/// Adds a field to an object.
fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}

/// A duration as protobuf's JSON mapping spells it.
fn duration(millis: u64) -> String {
    match millis % 1000 {
        0 => format!("{}s", millis / 1000),
        rest => format!("{}.{rest:03}s", millis / 1000),
    }
}
