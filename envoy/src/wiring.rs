//! What the filter and the configuration that is rendered for it must agree on: names of clusters
//! and fields, and the plugin's own configuration.

use messageweave_lb::policy::headers::HOP_BY_HOP;
use messageweave_lb::policy::json::Json;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::settings::{Settings, fingerprint};
use serde_json::json;

/// Names the cluster of a redirect hop. Only the filter sets it; origins never see it.
pub const CLUSTER_FIELD: &str = "x-lb-cluster";

/// Marks a redirect that the policy follows, and tells the filter where it came from
/// (see [`marker`](crate::marker)). Neither origins nor clients see it.
pub const HOP_FIELD: &str = "x-lb-hop";

/// The address of the client's connection, where a limit asks for it: whatever `x-forwarded-for` says.
pub const PEER_FIELD: &str = "x-lb-peer";

/// Tells a probe's answer from a reply that Envoy made in its place, and a hop's answer from others.
pub const ANSWERED_FIELD: &str = "x-lb-answered";
/// Its value on a hop's answer.
pub const HOPPED: &str = "hop";

/// What a try asked for, `<method> <path?query>`: Envoy adds it to each answer, because the filter behind the
/// router cannot ask when it is a redirect. Clients never see it.
pub const ASKED_FIELD: &str = "x-lb-asked";

/// A redirect that the policy passes on travels so through the router, which would follow it.
pub const HIDDEN_LOCATION: &str = "x-lb-location";

/// The bound of a hop: Envoy's router reads it.
pub const TRY_TIMEOUT_FIELD: &str = "x-envoy-upstream-rq-per-try-timeout-ms";

/// The namespace of the endpoint metadata that holds an origin as the policy spells it.
pub const METADATA: &str = "lb";
/// The key in that namespace.
pub const METADATA_ORIGIN: &str = "origin";

/// By which an origin tells an Envoy in front of it not to try again: its answer is not for this one.
pub const RATE_LIMITED_FIELD: &str = "x-envoy-ratelimited";

/// All fields that are Envoy's and the filter's business alone.
pub const INTERNAL_FIELDS: [&str; 4] = [CLUSTER_FIELD, HOP_FIELD, ANSWERED_FIELD, PEER_FIELD];

/// Where the filter leaves what a request has used of its limit, in the order of the fields that say it:
/// Envoy adds those to the answer.
pub const LIMIT_STATES: [&str; 2] = ["lb.limit", "lb.remaining"];

/// What the policy never forwards and the rendered routes, or Envoy itself, remove from every
/// request, so that no hostcall is spent on it.
pub fn dropped_natively() -> impl Iterator<Item = &'static str> {
    HOP_BY_HOP.into_iter().chain(["expect"])
}

/// What Envoy adds to a request that it makes of a redirect, or to any.
pub const ADDED_BY_ENVOY: [&str; 4] =
    ["x-envoy-external-address", "x-envoy-original-host", "x-envoy-original-url", FORWARDED_PROTO];

/// Envoy's own word on how a request arrived, unless the operator trusts the client's.
pub const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// What a plugin does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The filter in front of the router.
    Admission,
    /// The filter behind the router, which sees each try's answer first.
    Redirects,
    /// The log of the router's failed tries.
    Attempts,
}

/// The plugin's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// What it does.
    pub role: Role,
    /// The origins for which clusters were rendered, in order. A list that differs from the one in
    /// the environment makes the balancer misconfigured.
    pub origins: Vec<String>,
    /// The [`fingerprint`](messageweave_lb::policy::settings::fingerprint) of the variables from which
    /// routes, clocks and attempts were rendered, for the same purpose.
    pub rendered_from: u64,
}

const ROLE: &str = "role";
const ORIGINS: &str = "origins";
const RENDERED_FROM: &str = "rendered_from";

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Admission, Self::Redirects, Self::Attempts];

    /// Its name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Redirects => "redirects",
            Self::Attempts => "attempts",
        }
    }
}

impl Plugin {
    /// Why what was rendered is not what the variables say, if it is not.
    #[must_use]
    pub fn mismatch(
        &self,
        settings: &Settings,
        var: impl FnMut(&str) -> Option<String>,
    ) -> Option<&'static str> {
        let origins = settings.origins().iter().map(Origin::as_str);
        if !self.origins.iter().map(String::as_str).eq(origins) {
            return Some(OTHER_ORIGINS);
        }
        (self.rendered_from != fingerprint(var)).then_some(OTHER_VARIABLES)
    }

    /// `{"role":"admission","origins":["https://a.example"],"rendered_from":"0f"}`
    #[must_use]
    pub fn encode(&self) -> String {
        let rendered_from = format!("{:x}", self.rendered_from);
        json!({ ROLE: self.role.name(), ORIGINS: self.origins, RENDERED_FROM: rendered_from }).to_string()
    }

    /// Reads exactly that; nothing from anything else.
    #[must_use]
    pub fn decode(text: &[u8]) -> Option<Self> {
        let Json::Object(fields) = Json::parse(std::str::from_utf8(text).ok()?).ok()? else { return None };
        let find = |name| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let (role, origins) = (find(ROLE)?, find(ORIGINS)?);
        let rendered_from = u64::from_str_radix(find(RENDERED_FROM)?.as_str()?, 16).ok()?;
        let role = Role::ALL.into_iter().find(|known| role.as_str() == Some(known.name()))?;
        let origins = origins.as_array()?.iter().map(|origin| origin.as_str().map(str::to_owned));
        let plugin = Self { role, origins: origins.collect::<Option<_>>()?, rendered_from };
        Some(plugin).filter(|_| fields.len() == 3)
    }
}

/// What filter and `check` say of a list of origins for which no clusters were rendered.
pub const OTHER_ORIGINS: &str =
    "BACKEND_ORIGINS_JSON: differs from the clusters in Envoy's configuration; render it again";

/// What they say of other variables than those from which routes, clocks and attempts were rendered.
pub const OTHER_VARIABLES: &str = "LB_POLICY_JSON or another LB_ variable: differs from what Envoy's \
    configuration was rendered from; render it again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_configuration_is_read_as_it_is_written() {
        let plugin = Plugin {
            role: Role::Admission,
            origins: vec!["https://a.example".to_owned()],
            rendered_from: u64::MAX,
        };
        assert_eq!(Plugin::decode(plugin.encode().as_bytes()), Some(plugin));
    }

    #[test]
    fn anything_else_is_no_plugin_configuration() {
        for text in [
            "",
            "[]",
            r#"{"role":"admission"}"#,
            r#"{"role":"admission","origins":[]}"#,
            r#"{"role":"other","origins":[],"rendered_from":"1"}"#,
            r#"{"role":"admission","origins":[1],"rendered_from":"1"}"#,
            r#"{"role":"admission","origins":[],"rendered_from":1}"#,
            r#"{"role":"admission","origins":[],"rendered_from":"x"}"#,
            r#"{"role":"admission","origins":[],"rendered_from":"1","more":1}"#,
        ] {
            assert_eq!(Plugin::decode(text.as_bytes()), None, "{text}");
        }
    }
}
