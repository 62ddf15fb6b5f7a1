//! An origin as an endpoint of Envoy, and whether a rendered configuration still has the origins of
//! the variables.

use std::net::{IpAddr, SocketAddr};

use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb_envoy::cluster::Connecting;
use messageweave_lb_envoy::wiring::{METADATA, METADATA_ORIGIN, OTHER_ORIGINS, Plugin};
use serde_json::Value;

use crate::environment::Variables;
use crate::upstream::Routes;

const HTTPS_PORT: u16 = 443;

/// Where an origin is and by which names it goes.
pub(super) struct Endpoint {
    /// As the policy spells it.
    pub(super) origin: String,
    /// `host[:port]`, for the Host field.
    pub(super) authority: String,
    /// The name on its certificate, or its address.
    pub(super) name: Result<String, IpAddr>,
    /// Where connections go.
    pub(super) address: String,
    pub(super) port: u16,
    /// Whether that is an address already.
    pub(super) resolved: bool,
}

impl Endpoint {
    pub(super) fn new(origin: &Origin, routes: &Routes) -> Result<Self, String> {
        let uri: http::Uri = origin.as_str().parse().map_err(|_| format!("{origin}: no URI"))?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(HTTPS_PORT);
        let name = host.parse().map_or_else(|_| Ok(host.clone()), Err);
        let elsewhere: Option<SocketAddr> = routes.address(&uri);
        Ok(Self {
            origin: origin.as_str().to_owned(),
            authority: origin.authority().to_owned(),
            resolved: elsewhere.is_some() || name.is_err(),
            address: elsewhere.map_or(host, |address| address.ip().to_string()),
            port: elsewhere.map_or(port, |address| address.port()),
            name,
        })
    }
}

/// What is wrong when a rendered configuration is not one for the variables: its clusters, or what its
/// filters say that they were rendered from.
pub(crate) fn differs(rendered: &str, variables: &Variables, settings: &Settings) -> Result<(), String> {
    let bootstrap: Value = yaml_serde::from_str(rendered).map_err(|error| error.to_string())?;
    let clusters = bootstrap.pointer("/static_resources/clusters").and_then(Value::as_array);
    let place = format!(
        "/load_assignment/endpoints/0/lb_endpoints/0/metadata/filter_metadata/{METADATA}/{METADATA_ORIGIN}"
    );
    let members = clusters.into_iter().flatten().filter(|cluster| {
        let name = cluster.get("name").and_then(Value::as_str).unwrap_or_default();
        Connecting::named(name.as_bytes()) == Connecting::ORDINARY
    });
    let rendered = members.filter_map(|cluster| cluster.pointer(&place)?.as_str());
    if !rendered.eq(settings.origins().iter().map(Origin::as_str)) {
        return Err(OTHER_ORIGINS.to_owned());
    }
    let mut filters = Vec::new();
    collect_filters(&bootstrap, &mut filters);
    if filters.is_empty() {
        return Err("the file holds no filter of messageweave-lb".to_owned());
    }
    let mismatch = filters.iter().find_map(|filter| filter.mismatch(variables, settings));
    mismatch.map_or(Ok(()), |mismatch| Err(mismatch.to_owned()))
}

/// One of our filters in a file: what it was rendered from, and the variables that it will be given.
struct Filter<'a> {
    plugin: Plugin,
    environment: &'a Value,
}

impl Filter<'_> {
    /// What the filter itself will say when it is given these, and what it would say of the operator's.
    fn mismatch(&self, variables: &Variables, settings: &Settings) -> Option<&'static str> {
        let own = |name: &str| self.variable(name, variables);
        let mismatch = self.plugin.mismatch(&Settings::from_vars(own), own);
        mismatch.or_else(|| self.plugin.mismatch(settings, |name| variables.get(name)))
    }

    /// From the file, or out of Envoy's own environment, which is taken for the operator's.
    fn variable(&self, name: &str, variables: &Variables) -> Option<String> {
        let inherited = spelt(self.environment, "host_env_keys", "hostEnvKeys").and_then(Value::as_array);
        if inherited.is_some_and(|keys| keys.iter().any(|key| key == name)) {
            return variables.get(name);
        }
        spelt(self.environment, "key_values", "keyValues")?.get(name)?.as_str().map(str::to_owned)
    }
}

/// A field by either of the names that Envoy reads it by.
fn spelt<'a>(node: &'a Value, name: &str, json_name: &str) -> Option<&'a Value> {
    node.get(name).or_else(|| node.get(json_name))
}

/// Our filters, wherever they stand.
fn collect_filters<'a>(node: &'a Value, found: &mut Vec<Filter<'a>>) {
    if let Some(text) = node.pointer("/configuration/value").and_then(Value::as_str)
        && let Some(plugin) = Plugin::decode(text.as_bytes())
    {
        let environment = spelt(node, "vm_config", "vmConfig")
            .and_then(|vm| spelt(vm, "environment_variables", "environmentVariables"))
            .unwrap_or(&Value::Null);
        return found.push(Filter { plugin, environment });
    }
    match node {
        Value::Object(fields) => fields.values().for_each(|value| collect_filters(value, found)),
        Value::Array(entries) => entries.iter().for_each(|value| collect_filters(value, found)),
        _ => {}
    }
}
