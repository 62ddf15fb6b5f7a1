//! Envoy's HTTP filters, ours and its own.

use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::settings::{digest, fingerprint};
use messageweave_lb_envoy::wiring::{ANSWERED_FIELD, HOPPED, Plugin, Role};
use serde_json::{Map, Value, json};

use super::{Rendering, type_url};

/// What Envoy adds to its own requests.
pub(super) const PROBE_REMOVALS: [&str; 4] =
    ["x-envoy-expected-rq-timeout-ms", "x-envoy-internal", "x-forwarded-for", "x-forwarded-proto"];

/// What the module asks of Envoy.
const HOSTCALLS: [&str; 23] = [
    "environ_get",
    "environ_sizes_get",
    "fd_write",
    "proc_exit",
    "proxy_add_header_map_value",
    "proxy_call_foreign_function",
    "proxy_get_buffer_bytes",
    "proxy_get_current_time_nanoseconds",
    "proxy_get_header_map_pairs",
    "proxy_get_header_map_value",
    "proxy_get_property",
    "proxy_get_shared_data",
    "proxy_http_call",
    "proxy_log",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_send_local_response",
    "proxy_set_buffer_bytes",
    "proxy_set_effective_context",
    "proxy_set_property",
    "proxy_set_shared_data",
    "proxy_set_tick_period_milliseconds",
    "random_get",
];

fn name(role: Role) -> String {
    format!("messageweave-lb.{}", role.name())
}

/// The filter in one of its roles, as an HTTP filter. Most answers are none of its business, and Envoy
/// sees that for less than a call costs.
pub(super) fn wasm(rendering: &Rendering, role: Role) -> Value {
    let skipped = match role {
        Role::Redirects => {
            let usual = skip_unless(names_fields());
            json!({ "2xx": usual, "4xx": usual, "5xx": usual })
        }
        Role::Admission | Role::Attempts => {
            let usual = skip_unless(field(ANSWERED_FIELD, json!({ "exact": HOPPED })));
            json!({ "2xx": usual, "4xx": usual })
        }
    };
    skipping(extension(rendering, role), skipped)
}

/// A filter that is passed over, by classes of answers.
fn skipping(filter: Value, by_class: Value) -> Value {
    json!({
        "name": filter.get("name"),
        "typed_config": {
            "@type": type_url("envoy.extensions.common.matching.v3.ExtensionWithMatcher"),
            "extension_config": filter,
            "xds_matcher": { "matcher_tree": {
                "input": {
                    "name": "class",
                    "typed_config": { "@type": type_url("envoy.type.matcher.v3.HttpResponseStatusCodeClassMatchInput") },
                },
                "exact_match_map": { "map": by_class },
            } },
        },
    })
}

fn skip() -> Value {
    json!({
        "name": "skip",
        "typed_config": { "@type": type_url("envoy.extensions.filters.common.matcher.action.v3.SkipFilter") },
    })
}

/// Answers that are neither failures nor redirects are skipped. In front of the router, those of redirect
/// hops are of interest all the same: only the filter knows which origin was chosen. Behind it, those
/// whose `connection` names fields are; failures are for the filter in front.
fn skip_unless(unusual: Value) -> Value {
    json!({ "matcher": { "matcher_list": { "matchers": [{
        "predicate": { "not_matcher": unusual },
        "on_match": { "action": skip() },
    }] } } })
}

/// A `connection` that is more than `close` or `keep-alive`.
fn names_fields() -> Value {
    let words = ["close", "keep-alive"]
        .map(|word| field("connection", json!({ "exact": word, "ignore_case": true })));
    json!({ "and_matcher": { "predicate": [
        field("connection", json!({ "safe_regex": { "google_re2": {}, "regex": ".+" } })),
        { "not_matcher": { "or_matcher": { "predicate": words } } },
    ] } })
}

/// A field of the answer.
fn field(name: &str, value: Value) -> Value {
    json!({ "single_predicate": {
        "input": {
            "name": name,
            "typed_config": {
                "@type": type_url("envoy.type.matcher.v3.HttpResponseHeaderMatchInput"),
                "header_name": name,
            },
        },
        "value_match": value,
    } })
}

fn extension(rendering: &Rendering, role: Role) -> Value {
    json!({
        "name": name(role),
        "typed_config": {
            "@type": type_url("envoy.extensions.filters.http.wasm.v3.Wasm"),
            "config": plugin(rendering, role),
        },
    })
}

/// The filter as an access logger.
pub(super) fn wasm_logger(rendering: &Rendering, role: Role) -> Value {
    json!({
        "@type": type_url("envoy.extensions.access_loggers.wasm.v3.WasmAccessLog"),
        "config": plugin(rendering, role),
    })
}

/// `envoy.extensions.wasm.v3.PluginConfig`. A trap costs the requests that are in the VM at that
/// moment: the next one gets a new VM.
fn plugin(rendering: &Rendering, role: Role) -> Value {
    let origins = rendering.settings.origins().iter().map(|origin| Origin::as_str(origin).to_owned());
    let rendered_from = fingerprint(|name| rendering.variables.get(name));
    let configuration = Plugin { role, origins: origins.collect(), rendered_from }.encode();
    let variables: Map<_, _> =
        rendering.variables.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({
        "name": "messageweave-lb",
        "root_id": role.name(),
        "vm_config": {
            // A VM for each role, so that each has its own callbacks, and for each configuration, so that one
            // that is replaced goes with its VM; the module is compiled once for all.
            "vm_id": format!("{}.{:016x}", name(role), identity(rendering, &configuration)),
            "runtime": "envoy.wasm.runtime.v8",
            "capability_restriction_config": { "allowed_capabilities": capabilities(role) },
            "code": { "local": Rendering::file(&rendering.filter) },
            "environment_variables": { "key_values": variables },
        },
        "configuration": {
            "@type": type_url("google.protobuf.StringValue"),
            "value": configuration,
        },
        // A request whose body is dropped waits for its end.
        "allow_on_headers_stop_iteration": true,
        "failure_policy": "FAIL_RELOAD",
        // Of one millisecond Envoy takes the half, and divides by it.
        "reload_config": { "backoff": { "base_interval": "0.002s", "max_interval": "1s" } },
    })
}

/// Stands for the plugin's configuration and all variables.
fn identity(rendering: &Rendering, configuration: &str) -> u64 {
    digest(rendering.variables.iter().flat_map(|(name, value)| [name, value]).chain([configuration]))
}

/// What the VM of a role may do and is called for: Envoy calls what it finds, several times for each
/// request, and each call costs.
fn capabilities(role: Role) -> Value {
    let callbacks: &[&str] = match role {
        Role::Admission => &[
            "proxy_on_configure",
            "proxy_on_request_headers",
            "proxy_on_request_body",
            "proxy_on_request_trailers",
            "proxy_on_response_headers",
            "proxy_on_tick",
            "proxy_on_http_call_response",
        ],
        Role::Redirects => &["proxy_on_response_headers"],
        Role::Attempts => &["proxy_on_configure", "proxy_on_log"],
    };
    let all = [callbacks, &HOSTCALLS].concat();
    all.into_iter().map(|name| (name.to_owned(), json!({}))).collect::<Map<_, _>>().into()
}

/// Envoy's own filter that edits header sections.
pub(super) fn mutation(mutations: Value) -> Value {
    json!({
        "name": "envoy.filters.http.header_mutation",
        "typed_config": {
            "@type": type_url("envoy.extensions.filters.http.header_mutation.v3.HeaderMutation"),
            "mutations": mutations,
        },
    })
}

/// Removes all fields of a name.
pub(super) fn remove(name: &str) -> Value {
    json!({ "remove": name })
}

/// Removes all fields.
pub(super) fn remove_all() -> Value {
    json!({ "remove_on_match": { "key_matcher": { "safe_regex": { "regex": ".*" } } } })
}

/// Sets a field, whatever was there.
pub(super) fn overwrite(name: &str, value: &str) -> Value {
    json!({ "append": header(name, value) })
}

/// `envoy.config.core.v3.HeaderValueOption`: the same for a route. A value that turns out empty is
/// not set.
pub(super) fn header(name: &str, value: &str) -> Value {
    json!({
        "header": { "key": name, "value": value },
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
    })
}

/// The end of a chain of filters behind the router.
pub(super) fn codec() -> Value {
    json!({
        "name": "envoy.filters.http.upstream_codec",
        "typed_config": {
            "@type": type_url("envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"),
        },
    })
}
