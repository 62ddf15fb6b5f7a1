//! Envoy with the configuration that `messageweave-lb envoy-config` renders: with the filter, and
//! without it on the same routes.

use std::path::PathBuf;
use std::process::Command;

use messageweave_lb::policy::safelist::SAFELIST;
use messageweave_lb_harness::driver::{envoy_binary, filter, host_binary};
use messageweave_lb_harness::envoy::{each, render, without_filter};
use serde_json::{Value, json};

use super::Site;
use crate::Fallible;

pub(super) fn files() -> Vec<PathBuf> {
    vec![host_binary(), filter(), envoy_binary()]
}

pub(super) fn command(site: &Site<'_>, with_filter: bool) -> Fallible<Command> {
    let (listen, ca) = (site.address.to_string(), site.origins.ca.display().to_string());
    let resolves = site.resolves();
    let mut flags = vec!["--listen", &listen, "--ca", &ca];
    flags.extend(resolves.iter().map(String::as_str));
    let json = site.origins.json();
    let variables = [("BACKEND_ORIGINS_JSON", json.as_str()), ("LB_TRUST_FORWARDED_PROTO", "1")];
    let mut bootstrap = render(&flags, &variables)?;
    balance(&mut bootstrap);
    if !with_filter {
        without_filter(&mut bootstrap);
        close(&mut bootstrap);
    }
    let file = site.write("envoy.json", &bootstrap.to_string())?;
    let mut command = Command::new(envoy_binary());
    command.env_clear().arg("--config-path").arg(file).args([
        "--disable-hot-restart",
        "--log-level",
        "warning",
    ]);
    Ok(command)
}

/// As many connections for each worker: else chance deals them, and decides more than the filter does.
fn balance(bootstrap: &mut Value) {
    let listeners = bootstrap.pointer_mut("/static_resources/listeners").and_then(Value::as_array_mut);
    for listener in listeners.into_iter().flatten().filter_map(Value::as_object_mut) {
        listener.insert("connection_balance_config".to_owned(), json!({ "exact_balance": {} }));
    }
}

/// The safelist in Envoy's own words: the route for everything becomes one for each path, and the rest
/// is a 404.
fn close(bootstrap: &mut Value) {
    each(bootstrap, &mut |object| {
        let Some(Value::Array(routes)) = object.get_mut("routes") else { return };
        let open = routes.pop().unwrap_or_default();
        routes.retain(|route| route.pointer("/match/path").is_some());
        for route in &SAFELIST {
            let mut own = open.clone();
            if let Some(object) = own.as_object_mut() {
                object.insert("match".to_owned(), json!({ "path": route.matcher.text() }));
            }
            routes.push(own);
        }
        let text = "route not forwarded";
        routes.push(json!({
            "match": { "prefix": "/" },
            "direct_response": { "status": 404, "body": { "inline_string": text } },
        }));
    });
}
