//! The corpus on either component in the native host.

use std::path::Path;

use messageweave_lb_harness::case::parse;
use messageweave_lb_harness::corpus;
use messageweave_lb_harness::driver::{Component, Driver, World};

/// Most cases wait for clocks, so many run at once on few cores.
const WIDTH: usize = 12;

#[test]
fn every_case_holds_for_the_component_in_the_host() {
    if let Err(faults) = run(World::Proxy) {
        panic!("{faults}");
    }
}

#[test]
fn every_case_holds_for_the_service_in_the_host() {
    if let Err(faults) = run(World::Service) {
        panic!("{faults}");
    }
}

fn run(world: World) -> Result<(), String> {
    corpus::run(&Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))?, WIDTH)
}

/// A case that holds. What is spoilt below is noticed on sockets, not by the comparison alone.
const CASE: &str = r#"
why = "a case that holds"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example"]'
LB_MAX_ATTEMPTS = "1"
[[origin]]
url = "https://a.example"
script = [{ status = 500, headers = [["x-a", "1"]], body = "failed" }]
[[origin]]
url = "https://b.example"
[[step]]
[step.request]
method = "POST"
target = "/webhook/tg"
body = "payload"
[step.answer]
status = 503
body = "all backends failed: backend https://a.example returned HTTP 500"
[[step.upstream]]
origin = "https://a.example"
method = "POST"
target = "/webhook/tg"
body = "payload"
[log]
lines = [
    "attempt failed: POST /webhook/tg https://a.example HTTP 500",
    "all backends failed: POST /webhook/tg https://a.example HTTP 500",
]
"#;

const SPOILT: &[(&str, &str, &str)] = &[
    ("status = 503", "status = 502", "status: expected [502], got 503"),
    ("returned HTTP 500\"", "returned HTTP 501\"", "body: expected"),
    ("target = \"/webhook/tg\"\nbody = \"payload\"\n[log]", "target = \"/x\"\n[log]", "target: expected /x"),
    ("body = \"payload\"\n[log]", "body = \"payloaf\"\n[log]", "body: expected \"payloaf\""),
    ("{ status = 500", "{ connection = \"reset\" }, { status = 500", "1 turn(s) of the script were not used"),
    ("script = [{ status = 500", "script = [] #", "beyond the script"),
    ("{ status = 500", "{ connection = \"reset\" }] #", "expected 1 request(s), seen []"),
    ("lines = [", "lines = [\"\",", "log: expected"),
    ("[log]", "[log]\nnever = [\"returned HTTP\"]", "is in it"),
    ("why", "first = \"https://b.example\"\nwhy", "was never the start"),
];

#[test]
fn a_spoilt_case_does_not_hold_for_the_component() {
    let driver = Component::new(World::Proxy, Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a driver");
    let run = |text: &str| driver.run(&parse("spoilt", text).expect(text)).join("\n");
    assert_eq!(run(CASE), "");
    std::thread::scope(|scope| {
        for (part, spoilt, found) in SPOILT {
            scope.spawn(move || {
                assert!(CASE.contains(part), "{part}");
                let differences = run(&CASE.replacen(part, spoilt, 1));
                assert!(differences.contains(found), "{spoilt}: not {found} but {differences}");
            });
        }
    });
}
