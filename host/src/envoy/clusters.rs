//! One cluster per origin; over them, one rotation per origin to start from, one of the first origin
//! alone, and one for redirect hops to each. Routes whose own clock is shorter than that of connecting have a
//! set of their own.
//!
//! A rotation is an aggregate cluster: its members are priorities, and a retry that excludes
//! priorities that were tried goes to another origin, never to the same one twice.

use std::collections::BTreeSet;

use messageweave_lb::policy::exchange::{BACKEND_FIELD, MAX_HEAD_BYTES, MAX_HEAD_FIELDS};
use messageweave_lb_envoy::cluster::Connecting;
use messageweave_lb_envoy::wiring::{
    ANSWERED_FIELD, ASKED_FIELD, HIDDEN_LOCATION, HOP_FIELD, HOPPED, METADATA, METADATA_ORIGIN,
    RATE_LIMITED_FIELD, Role,
};
use serde_json::{Value, json};

use super::origins::Endpoint;
use super::{Rendering, duration, filters, set, type_url};

/// Origins usually keep an idle connection for 5 s or longer.
const IDLE_MS: u64 = 4000;
/// Enough never to be what decides: Envoy's own default is three retries at once.
const UNBOUNDED: u32 = 1_000_000;

pub(super) fn all(rendering: &Rendering) -> Vec<Value> {
    let settings = &rendering.settings;
    let routes = settings.policy.iter().flat_map(|policy| policy.routes.iter());
    let mut bounds: BTreeSet<_> =
        routes.map(|route| Connecting::of(settings.timeout(route.bounds), settings)).collect();
    // Health probes and the order of `differs` want these, and they come first.
    bounds.insert(Connecting::ORDINARY);
    bounds.into_iter().flat_map(|connecting| within(rendering, connecting)).collect()
}

/// All clusters with that bound for connecting.
fn within(rendering: &Rendering, connecting: Connecting) -> Vec<Value> {
    let count = rendering.endpoints.len();
    let member = |index| connecting.member(index);
    let members = rendering.endpoints.iter().enumerate();
    let members = members.map(|(index, endpoint)| origin(rendering, connecting, index, endpoint));
    let rotations = (0..count).map(|start| {
        let order = (start..count).chain(0..start).map(member).collect();
        aggregate(rendering, connecting.rotation(start), order, true)
    });
    let first =
        (0..count.min(1)).map(|index| aggregate(rendering, connecting.first(), vec![member(index)], true));
    let hops =
        (0..count).map(|index| aggregate(rendering, connecting.hop(index), vec![member(index)], false));
    members.chain(rotations).chain(first).chain(hops).collect()
}

fn origin(rendering: &Rendering, connecting: Connecting, index: usize, endpoint: &Endpoint) -> Value {
    let name = connecting.member(index);
    json!({
        "name": name,
        "type": if endpoint.resolved { "STATIC" } else { "LOGICAL_DNS" },
        "connect_timeout": duration(connecting.bound(&rendering.settings)),
        "dns_lookup_family": "ALL",
        "load_assignment": { "cluster_name": name, "endpoints": [{ "lb_endpoints": [{
            "endpoint": {
                "address": { "socket_address": { "address": endpoint.address, "port_value": endpoint.port } },
                "hostname": endpoint.authority,
            },
            "metadata": { "filter_metadata": { METADATA: { METADATA_ORIGIN: endpoint.origin } } },
        }] }] },
        "circuit_breakers": breakers(),
        "transport_socket": tls(rendering, endpoint),
        // These filters serve the health probes alone: a rotation brings its own.
        "typed_extension_protocol_options": protocol(json!({
            "common_http_protocol_options": {
                "idle_timeout": duration(IDLE_MS),
                "max_headers_count": MAX_HEAD_FIELDS,
                "max_response_headers_kb": MAX_HEAD_BYTES / 1024,
            },
            "auto_config": {
                // Transfer-encoding overrides content-length (RFC 9112 section 6.3).
                "http_protocol_options": { "allow_chunked_length": true },
                // A malformed answer costs itself, not those beside it.
                "http2_protocol_options": { "override_stream_error_on_invalid_http_message": true },
            },
            "http_filters": [
                filters::mutation(json!({
                    "request_mutations": filters::PROBE_REMOVALS.map(|name| json!({ "remove": name })),
                    "response_mutations": [filters::overwrite(ANSWERED_FIELD, "1")],
                })),
                filters::codec(),
            ],
        })),
    })
}

/// Tries its members one after another.
fn aggregate(rendering: &Rendering, name: String, members: Vec<String>, names_backend: bool) -> Value {
    let names = match names_backend {
        true => {
            let origin = format!("%UPSTREAM_METADATA({METADATA}:{METADATA_ORIGIN})%");
            filters::overwrite(BACKEND_FIELD, &origin)
        }
        false => filters::overwrite(ANSWERED_FIELD, HOPPED),
    };
    let asked = filters::overwrite(ASKED_FIELD, "%REQ(:METHOD)% %REQ(:PATH)%");
    // Answers pass from the last to the first.
    let http_filters = [
        filters::wasm(rendering, Role::Redirects),
        // An origin's word on what only this Envoy may say ends here, and so do trailers. Redirects alone ask what
        // was asked for, but to tell them apart would cost more than to say it on all answers.
        filters::mutation(json!({
            "response_mutations": [
                filters::remove(ANSWERED_FIELD),
                filters::remove(RATE_LIMITED_FIELD),
                filters::remove(HOP_FIELD),
                filters::remove(HIDDEN_LOCATION),
                names,
                asked,
            ],
            "request_trailers_mutations": [filters::remove_all()],
            "response_trailers_mutations": [filters::remove_all()],
        })),
        filters::codec(),
    ];
    json!({
        "name": name,
        "lb_policy": "CLUSTER_PROVIDED",
        "cluster_type": {
            "name": "envoy.clusters.aggregate",
            "typed_config": {
                "@type": type_url("envoy.extensions.clusters.aggregate.v3.ClusterConfig"),
                "clusters": members,
            },
        },
        "circuit_breakers": breakers(),
        "typed_extension_protocol_options": protocol(json!({
            "explicit_http_config": { "http_protocol_options": {} },
            "http_filters": http_filters,
        })),
    })
}

fn protocol(options: Value) -> Value {
    const OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let mut typed = json!({ "@type": type_url(OPTIONS) });
    if let (Value::Object(typed), Value::Object(options)) = (&mut typed, options) {
        typed.extend(options);
    }
    json!({ OPTIONS: typed })
}

fn breakers() -> Value {
    json!({ "thresholds": [{
        "max_connections": UNBOUNDED,
        "max_pending_requests": UNBOUNDED,
        "max_requests": UNBOUNDED,
        "max_retries": UNBOUNDED,
    }] })
}

/// TLS with the origin's own name in SNI and on the certificate. An address has no SNI (RFC 6066
/// section 3) and must be on the certificate itself.
fn tls(rendering: &Rendering, endpoint: &Endpoint) -> Value {
    let mut validation = json!({ "trusted_ca": Rendering::file(&rendering.roots) });
    let mut socket =
        json!({ "@type": type_url("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext") });
    match &endpoint.name {
        Ok(name) => {
            set(&mut socket, "sni", json!(name));
            set(&mut socket, "auto_sni_san_validation", json!(true));
        }
        Err(address) => {
            set(
                &mut validation,
                "match_typed_subject_alt_names",
                json!([{ "san_type": "IP_ADDRESS", "matcher": { "exact": address.to_string() } }]),
            );
        }
    }
    set(&mut socket, "common_tls_context", json!({ "validation_context": validation }));
    json!({ "name": "envoy.transport_sockets.tls", "typed_config": socket })
}
