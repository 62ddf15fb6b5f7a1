//! The routes: budgets, retries and redirects as Envoy's router runs them. Which requests come so
//! far, and where each begins, the filter has decided.

use messageweave_lb::policy::headers::HOP_BY_HOP;
use messageweave_lb::policy::plan::starts;
use messageweave_lb::policy::redirect::MAX_HOPS;
use messageweave_lb::policy::safelist::{Job, ROUTES};
use messageweave_lb_envoy::wiring::{
    ADDED_BY_ENVOY, ASKED_FIELD, CLUSTER_FIELD, DROPPED_NATIVELY, FORWARDED_PROTO, HOP_FIELD,
    INTERNAL_FIELDS, rotation,
};
use serde_json::{Value, json};

use super::{Rendering, duration, set, type_url};

/// All names are served: one virtual host.
pub(super) fn configuration(rendering: &Rendering) -> Value {
    let mut routes = vec![hop(rendering)];
    for route in ROUTES.iter().filter(|route| route.job != Job::Ordinary) {
        routes.push(forward(rendering, json!({ "path": route.path }), route.job));
    }
    routes.push(forward(rendering, json!({ "prefix": "/" }), Job::Ordinary));
    // A client's own word on how it came travels where the operator trusts it.
    let kept = rendering.settings.trust_forwarded_proto.then_some(FORWARDED_PROTO);
    let removed = INTERNAL_FIELDS.iter().chain(&DROPPED_NATIVELY).chain(&ADDED_BY_ENVOY);
    let removed = removed.filter(|name| Some(**name) != kept);
    json!({
        "name": "messageweave-lb",
        "virtual_hosts": [{
            "name": "all",
            "domains": ["*"],
            "request_headers_to_remove": removed.collect::<Vec<_>>(),
            "response_headers_to_remove": HOP_BY_HOP.iter().chain(&[ASKED_FIELD]).collect::<Vec<_>>(),
            "routes": routes,
        }],
    })
}

/// A redirect hop: one try, to the cluster and on the clock that the filter sets. A client's own marker
/// leads nowhere: the filter removes it.
fn hop(rendering: &Rendering) -> Value {
    let matched = json!({ "prefix": "/", "headers": [{ "name": HOP_FIELD, "present_match": true }] });
    let settings = &rendering.settings;
    let longest = [Job::Ordinary, Job::Reconcile, Job::Worker].map(|job| settings.timeout(job).0);
    let to = ("cluster_header", json!(CLUSTER_FIELD));
    route(rendering, matched, to, 1, longest.into_iter().max().unwrap_or_default())
}

fn forward(rendering: &Rendering, matched: Value, job: Job) -> Value {
    let settings = &rendering.settings;
    let attempts = settings.attempts(job);
    route(rendering, matched, start(rendering, attempts), attempts, settings.timeout(job).0)
}

/// Where a request starts: Envoy throws the dice, which spares the filter a call and Envoy a second
/// look for the route.
fn start(rendering: &Rendering, attempts: u32) -> (&'static str, Value) {
    match starts(attempts, rendering.settings.origins().len()) {
        // The filter answers all requests, and there is no cluster to name.
        0 => ("cluster_header", json!(CLUSTER_FIELD)),
        1 => ("cluster", json!(rotation(0))),
        count => {
            let each = (0..count).map(|start| json!({ "name": rotation(start), "weight": 1 }));
            ("weighted_clusters", json!({ "clusters": each.collect::<Vec<_>>() }))
        }
    }
}

fn route(
    rendering: &Rendering,
    matched: Value,
    (kind, clusters): (&str, Value),
    attempts: u32,
    timeout: u64,
) -> Value {
    // Envoy finds no route for a request without the latter, which was removed for the origin.
    let copied = match rendering.settings.trust_forwarded_proto {
        true => vec![HOP_FIELD],
        false => vec![HOP_FIELD, FORWARDED_PROTO],
    };
    let mut action = json!({
        "auto_host_rewrite": true,
        "timeout": "0s",
        "idle_timeout": duration(idle(attempts, timeout)),
        "internal_redirect_policy": {
            "max_internal_redirects": MAX_HOPS,
            // Those into which the filter turns every redirect that the policy follows.
            "redirect_response_codes": [303, 307],
            "allow_cross_scheme_redirect": true,
            "response_headers_to_copy": copied,
        },
        "retry_policy": {
            "retry_on": "5xx,retriable-headers",
            "retriable_headers": [{ "name": ":status", "string_match": { "safe_regex": { "regex": "[6-9].*" } } }],
            "num_retries": attempts.saturating_sub(1),
            "per_try_timeout": duration(timeout),
            "retry_back_off": { "base_interval": "0.001s", "max_interval": "0.001s" },
            "retry_priority": {
                "name": "envoy.retry_priorities.previous_priorities",
                "typed_config": {
                    "@type": type_url("envoy.extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig"),
                    "update_frequency": 1,
                },
            },
        },
    });
    set(&mut action, kind, clusters);
    json!({
        "match": matched,
        "request_body_buffer_limit": rendering.settings.replay_max_bytes,
        "route": action,
    })
}

/// Longer than all tries of a request may take, each connecting for one timeout and answering for
/// another, so that no job is cut.
fn idle(attempts: u32, timeout: u64) -> u64 {
    timeout.saturating_mul(u64::from(attempts) * 2 + 1)
}
