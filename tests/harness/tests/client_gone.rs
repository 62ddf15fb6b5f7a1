//! W30: the client goes away, and the upstream request goes with it, long before any clock.

use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::case::{Case, parse};
use messageweave_lb_harness::client::send;
use messageweave_lb_harness::driver::{Component, Host, World};
use messageweave_lb_harness::evidence::Outcome;
use messageweave_lb_harness::origin::Network;

/// The clock of the attempt is far longer than what the test waits for.
const CASE: &str = r#"
why = "W30"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
LB_REQUEST_TIMEOUT_MS = "60000"
[[origin]]
url = "https://a.example"
version = "%ORIGIN%"
script = [%TURN%]
[[step]]
request = { target = "/ready", version = "%CLIENT%" }
answer = { status = 200 }
"#;

const SILENCE: &str = "{ fault = \"silence\" }";
const HALF: &str = "{ status = 200, length = 100, body = [\"half\", { end = \"stall\" }] }";
const ENDLESS: &str =
    "{ status = 200, framing = \"chunked\", body = [{ repeat = \"x\", bytes = 1_000_000_000_000 }] }";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_its_answer_is_dropped() {
    assert_eq!(every_version(SILENCE).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_answer_is_silent_is_dropped() {
    assert_eq!(every_version(HALF).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_answer_streams_is_dropped() {
    assert_eq!(every_version(ENDLESS).await, Ok(()));
}

async fn every_version(turn: &str) -> Result<(), String> {
    let mut faults = Vec::new();
    for world in World::ALL {
        for (client, origin) in [("1.1", "1.1"), ("2", "1.1"), ("1.1", "2"), ("2", "2")] {
            let text = CASE.replace("%TURN%", turn).replace("%ORIGIN%", origin).replace("%CLIENT%", client);
            if let Err(fault) = leaves_and_is_noticed(world, &parse("client-gone", &text)?).await {
                faults.push(format!("{world:?}, h{client} to h{origin}: {fault}"));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

async fn leaves_and_is_noticed(world: World, case: &Case) -> Result<(), String> {
    let driver = Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let network = Network::start(case, driver.authority()).await?;
    let host = Host::start(&driver.launch(case, &network)).await?;
    let request = &case.step.first().ok_or("no step")?.request;
    // Giving up drops the client's connection.
    let outcome = send(&driver.target(&host), request, Duration::from_millis(500)).await;
    if !matches!(outcome, Outcome::Hung) {
        return Err(format!("the client did not have to give up: {outcome:?}"));
    }
    let noticed = network
        .recorder
        .wait(Duration::from_secs(5), |recorder| recorder.since(0).iter().any(|request| request.abandoned));
    if !noticed.await {
        return Err(format!("the upstream request lives on: {:?}", network.recorder.since(0)));
    }
    let printed = host.stop().await?;
    let logged = printed.iter().filter(|line| line.starts_with("messageweave-lb: "));
    let expected = ["stopping", "serving version="];
    let storm: Vec<&String> =
        logged.filter(|line| !expected.iter().any(|known| line.contains(known))).collect();
    if storm.is_empty() { Ok(()) } else { Err(format!("it was logged: {storm:#?}")) }
}
