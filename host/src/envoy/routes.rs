//! The routes: budgets, retries and redirects as Envoy's router runs them. Which requests come so
//! far, and where each begins, the filter has decided.

use std::collections::BTreeSet;

use messageweave_lb::policy::document::Policy;
use messageweave_lb::policy::headers::HOP_BY_HOP;
use messageweave_lb::policy::limit::answer::{LIMIT_FIELD, REMAINING_FIELD};
use messageweave_lb::policy::plan::starts;
use messageweave_lb::policy::redirect::MAX_HOPS;
use messageweave_lb::policy::route::{Bounds, Matcher};
use messageweave_lb::policy::time::Millis;
use messageweave_lb_envoy::cluster::Connecting;
use messageweave_lb_envoy::wiring::{
    ADDED_BY_ENVOY, ASKED_FIELD, CLUSTER_FIELD, FORWARDED_PROTO, HOP_FIELD, INTERNAL_FIELDS, LIMIT_STATES,
    TRY_TIMEOUT_FIELD, dropped_natively,
};
use serde_json::{Value, json};

use super::{Rendering, duration, filters, set, type_url};

/// All names are served: one virtual host.
pub(super) fn configuration(rendering: &Rendering) -> Value {
    let mut routes = hops(rendering);
    for (matcher, budget) in rendering.settings.policy.iter().flat_map(|policy| rows(rendering, policy)) {
        let matched = match matcher {
            Matcher::Exact(path) => json!({ "path": path }),
            Matcher::Prefix(prefix) => json!({ "prefix": prefix }),
        };
        routes.push(forward(rendering, matched, budget));
    }
    routes.push(forward(rendering, json!({ "prefix": "/" }), budget(rendering, Bounds::ORDINARY)));
    // A client's own word on how it came travels where the operator trusts it.
    let kept = rendering.settings.trust_forwarded_proto.then_some(FORWARDED_PROTO);
    let removed = INTERNAL_FIELDS.into_iter().chain(dropped_natively()).chain(ADDED_BY_ENVOY);
    let removed = removed.filter(|name| Some(*name) != kept);
    json!({
        "name": "messageweave-lb",
        "virtual_hosts": [{
            "name": "all",
            "domains": ["*"],
            "request_headers_to_remove": removed.collect::<Vec<_>>(),
            "response_headers_to_remove": HOP_BY_HOP.iter().chain(&[ASKED_FIELD]).collect::<Vec<_>>(),
            "response_headers_to_add": usage(rendering),
            "routes": routes,
        }],
    })
}

/// What the filter leaves of a request's limit goes on every answer, whoever makes it; of a request
/// without a limit there is nothing.
fn usage(rendering: &Rendering) -> Vec<Value> {
    if rendering.settings.limits().is_empty() {
        return Vec::new();
    }
    let fields = [LIMIT_FIELD, REMAINING_FIELD].into_iter().zip(LIMIT_STATES);
    fields
        .map(|(field, state)| filters::header(field, &format!("%FILTER_STATE(wasm.{state}:PLAIN)%")))
        .collect()
}

/// How often, and how long each time.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Budget {
    attempts: u32,
    timeout: u64,
}

fn budget(rendering: &Rendering, bounds: Bounds) -> Budget {
    let settings = &rendering.settings;
    Budget { attempts: settings.attempts(bounds), timeout: settings.timeout(bounds).0 }
}

/// The policy's rows in an order in which the first that matches is the one that the policy finds.
/// Envoy walks over them for each request, so there are only those whose budget the rest would not
/// give anyway.
fn rows<'p>(rendering: &Rendering, policy: &'p Policy) -> Vec<(&'p Matcher, Budget)> {
    let budgets = policy.routes.iter().map(|route| (&route.matcher, budget(rendering, route.bounds)));
    let (exact, mut prefixes): (Vec<_>, Vec<_>) =
        budgets.partition(|(matcher, _)| matches!(matcher, Matcher::Exact(_)));
    prefixes.sort_by_key(|(matcher, _)| matcher.text().len());
    let ordinary = budget(rendering, Bounds::ORDINARY);
    let given = |kept: &[(&Matcher, Budget)], text: &str| {
        let longest = kept.iter().rev().find(|(prefix, _)| text.starts_with(prefix.text()));
        longest.map_or(ordinary, |(_, budget)| *budget)
    };
    let mut kept = Vec::new();
    for (matcher, budget) in prefixes {
        if given(&kept, matcher.text()) != budget {
            kept.push((matcher, budget));
        }
    }
    let exact = exact.into_iter().filter(|(matcher, budget)| given(&kept, matcher.text()) != *budget);
    let mut rows: Vec<_> = exact.collect();
    rows.extend(kept.into_iter().rev());
    rows
}

/// Redirect hops: one try, to the cluster and on the clock that the filter sets; for each clock a row, and
/// one for a hop without, which leads nowhere. A client's own marker does not come so far: the filter
/// removes it.
fn hops(rendering: &Rendering) -> Vec<Value> {
    let routes = rendering.settings.policy.iter().flat_map(|policy| policy.routes.iter());
    let clocks: BTreeSet<_> = routes.map(|route| rendering.settings.timeout(route.bounds).0).collect();
    let longest = clocks.last().copied().unwrap_or(1);
    let marked = json!({ "name": HOP_FIELD, "present_match": true });
    let row = |headers: Value, timeout| {
        let matched = json!({ "prefix": "/", "headers": headers });
        route(rendering, matched, ("cluster_header", json!(CLUSTER_FIELD)), Budget { attempts: 1, timeout })
    };
    let on_clock = |clock: &u64| {
        let text = clock.to_string();
        row(json!([{ "name": TRY_TIMEOUT_FIELD, "string_match": { "exact": text } }, marked]), *clock)
    };
    clocks.iter().map(on_clock).chain([row(json!([marked]), longest)]).collect()
}

fn forward(rendering: &Rendering, matched: Value, budget: Budget) -> Value {
    route(rendering, matched, start(rendering, budget), budget)
}

/// Where a request starts: Envoy throws the dice, which spares the filter a call and Envoy a second
/// look for the route.
fn start(rendering: &Rendering, Budget { attempts, timeout }: Budget) -> (&'static str, Value) {
    let connecting = Connecting::of(Millis(timeout), &rendering.settings);
    match starts(attempts, rendering.settings.origins().len()) {
        // The filter answers all requests, and there is no cluster to name.
        0 => ("cluster_header", json!(CLUSTER_FIELD)),
        1 => ("cluster", json!(connecting.first())),
        count => {
            let each = (0..count).map(|start| json!({ "name": connecting.rotation(start), "weight": 1 }));
            ("weighted_clusters", json!({ "clusters": each.collect::<Vec<_>>() }))
        }
    }
}

/// What is neither an answer nor, in Envoy's eyes, a failure.
const NO_ANSWER: &str = "[06-9].*|.{0,2}|.{4,}";

fn route(
    rendering: &Rendering,
    matched: Value,
    (kind, clusters): (&str, Value),
    Budget { attempts, timeout }: Budget,
) -> Value {
    // Envoy finds no route for a request without the latter, which was removed for the origin.
    let copied = match rendering.settings.trust_forwarded_proto {
        true => vec![HOP_FIELD],
        false => vec![HOP_FIELD, FORWARDED_PROTO],
    };
    let mut action = json!({
        "auto_host_rewrite": true,
        "timeout": "0s",
        "idle_timeout": duration(idle(rendering, attempts, timeout)),
        "internal_redirect_policy": {
            "max_internal_redirects": MAX_HOPS,
            // Those into which the filter turns every redirect that the policy follows.
            "redirect_response_codes": [303, 307],
            "allow_cross_scheme_redirect": true,
            "response_headers_to_copy": copied,
        },
        "retry_policy": {
            "retry_on": "5xx,retriable-headers",
            "retriable_headers": [{ "name": ":status", "string_match": { "safe_regex": { "regex": NO_ANSWER } } }],
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

/// Longer than all tries of a request may take, each connecting on one clock and answering on another;
/// then than what the filter waits for on a clock of its own, a silent client or health probes.
fn idle(rendering: &Rendering, attempts: u32, timeout: u64) -> u64 {
    const MARGIN_MS: u64 = 1000;
    let settings = &rendering.settings;
    let connecting = Connecting::of(Millis(timeout), settings).bound(settings);
    let tries = connecting.saturating_add(timeout).saturating_mul(attempts.into());
    tries.saturating_add(timeout.max(settings.request_timeout.0)).saturating_add(MARGIN_MS)
}
