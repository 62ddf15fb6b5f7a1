//! `spin.toml` names what there is, and lets the balancer reach the origins that it configures.

use std::path::Path;

use messageweave_lb::policy::settings::{Settings, VARIABLES};
use messageweave_lb_harness::driver::World;

#[test]
fn the_manifest_for_spin_agrees_with_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("spin.toml")).expect("spin.toml");
    let manifest: toml::Table = text.parse().expect("TOML");
    let component = &manifest["component"]["messageweave-lb"];
    assert_eq!(manifest["trigger"]["http"][0]["component"].as_str(), Some("messageweave-lb"));
    let source = root.join(component["source"].as_str().expect("a source"));
    assert_eq!(source, root.join(World::Proxy.file().strip_prefix(&root).expect("a file of the project")));
    let environment = component["environment"].as_table().expect("an environment");
    assert!(environment.keys().all(|name| VARIABLES.contains(&name.as_str())), "{environment:?}");
    let settings = Settings::from_vars(|name| Some(environment.get(name)?.as_str()?.to_owned()));
    assert!(settings.errors().is_empty(), "{:?}", settings.errors());
    let allowed = component["allowed_outbound_hosts"].as_array().expect("a list");
    let allowed: Vec<_> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let origins: Vec<_> = settings.origins().iter().map(|origin| origin.as_str()).collect();
    assert_eq!(allowed, origins);
}
