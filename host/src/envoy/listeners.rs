//! The listeners: plain http and TLS on the same port, and the HTTP connection manager behind both.

use std::net::SocketAddr;

use messageweave_lb::policy::limit::rule::{ClientAddress, Limit};
use messageweave_lb_envoy::wiring::{PEER_FIELD, Role};
use serde_json::{Value, json};

use super::{Rendering, duration, filters, limits, routes, set, type_url};

pub(super) fn all(rendering: &Rendering) -> Vec<Value> {
    let addresses = rendering.listen.iter().enumerate();
    addresses.map(|(index, address)| listener(rendering, index, *address)).collect()
}

/// An address in Envoy's words.
pub(super) fn socket_address(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}

fn listener(rendering: &Rendering, index: usize, address: SocketAddr) -> Value {
    let mut chains = Vec::new();
    if let Some((certificate, key)) = &rendering.certificate {
        let mut chain = chain(rendering);
        set(&mut chain, "filter_chain_match", json!({ "transport_protocol": "tls" }));
        set(
            &mut chain,
            "transport_socket",
            json!({
                "name": "envoy.transport_sockets.tls",
                "typed_config": {
                    "@type": type_url("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
                    "common_tls_context": {
                        "alpn_protocols": ["h2", "http/1.1"],
                        "tls_certificates": [{
                            "certificate_chain": Rendering::file(certificate),
                            "private_key": Rendering::file(key),
                        }],
                    },
                },
            }),
        );
        chains.push(chain);
    }
    chains.push(chain(rendering));
    json!({
        // Envoy lets the second of a name replace the first, and port 0 may be asked for twice.
        "name": format!("listener-{index}"),
        "address": socket_address(address),
        // A second Envoy on the port is an error, not a partner.
        "enable_reuse_port": false,
        "listener_filters": [{
            "name": "envoy.filters.listener.tls_inspector",
            "typed_config": {
                "@type": type_url("envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"),
            },
        }],
        "listener_filters_timeout": duration(limits::HEAD_TIMEOUT_MS),
        "filter_chains": chains,
    })
}

fn chain(rendering: &Rendering) -> Value {
    json!({ "filters": [{
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": connection_manager(rendering),
    }] })
}

fn connection_manager(rendering: &Rendering) -> Value {
    json!({
        "@type": type_url("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "messageweave-lb",
        "codec_type": "AUTO",
        "route_config": routes::configuration(rendering),
        "http_filters": [filters::wasm(rendering, Role::Admission), router(rendering)],
        // The client's own fields, untouched; whether one may say how it arrived, the operator says.
        "use_remote_address": true,
        "xff_num_trusted_hops": u32::from(rendering.settings.trust_forwarded_proto),
        "skip_xff_append": true,
        "generate_request_id": false,
        "forward_client_cert_details": "ALWAYS_FORWARD_ONLY",
        "server_header_transformation": "PASS_THROUGH",
        "early_header_mutation_extensions": early_mutations(rendering),
        // A path is never normalised into a match.
        "normalize_path": false,
        "merge_slashes": false,
        "path_with_escaped_slashes_action": "KEEP_UNCHANGED",
        // The routes have the clocks of requests.
        "stream_idle_timeout": "0s",
        "request_timeout": "0s",
        "request_headers_timeout": duration(limits::HEAD_TIMEOUT_MS),
        "max_request_headers_kb": limits::HEAD_BYTES / 1024,
        "common_http_protocol_options": {
            "idle_timeout": duration(limits::IDLE_TIMEOUT_MS),
            "max_headers_count": limits::HEAD_FIELDS,
            "headers_with_underscores_action": "ALLOW",
        },
        // An old version, or an upgrade that nobody offers, is no reason to refuse a request.
        "http_protocol_options": {
            "accept_http_10": true,
            // Transfer-encoding overrides content-length (RFC 9112 section 6.3).
            "allow_chunked_length": true,
            "ignore_http_11_upgrade": [{ "safe_regex": { "regex": ".*" } }],
        },
        // A malformed request costs itself, not those beside it.
        "http2_protocol_options": { "override_stream_error_on_invalid_http_message": true },
        // Origins are asked over TLS, whatever a client says.
        "scheme_header_transformation": { "match_upstream": true },
    })
}

/// Where a limit counts connections' own addresses, they are told before anything else looks at the
/// client's fields.
fn early_mutations(rendering: &Rendering) -> Vec<Value> {
    let by_connection = |limit: &Limit| limit.client_address == ClientAddress::Connection;
    if !rendering.settings.limits().iter().any(by_connection) {
        return Vec::new();
    }
    let peer = filters::overwrite(PEER_FIELD, "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%");
    vec![json!({
        "name": "envoy.http.early_header_mutation.header_mutation",
        "typed_config": {
            "@type": type_url("envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation"),
            "mutations": [peer],
        },
    })]
}

/// The router adds nothing of its own, and tells of tries that failed.
fn router(rendering: &Rendering) -> Value {
    json!({
        "name": "envoy.filters.http.router",
        "typed_config": {
            "@type": type_url("envoy.extensions.filters.http.router.v3.Router"),
            "suppress_envoy_headers": true,
            "upstream_log": [{
                "name": "messageweave-lb.attempts",
                "filter": { "or_filter": { "filters": [
                    { "response_flag_filter": {} },
                    { "status_code_filter": { "comparison": {
                        "op": "GE",
                        "value": { "default_value": 500, "runtime_key": "messageweave-lb.failed" },
                    } } },
                ] } },
                "typed_config": filters::wasm_logger(rendering, Role::Attempts),
            }],
        },
    })
}
