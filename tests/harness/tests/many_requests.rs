//! What only many requests show: none is mixed up with another, and the random start spreads.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::case::{Case, parse};
use messageweave_lb_harness::client::send;
use messageweave_lb_harness::driver::{Component, Driver, Host, World};
use messageweave_lb_harness::evidence::Outcome;
use messageweave_lb_harness::origin::Network;

const ECHO: &str = r#"
why = "P8 P9 on the component: 64 uploads at once, each answered with its own bytes"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
[[origin]]
url = "https://a.example"
script = [{ status = 200, echo = true, repeat = true }]
"#;

const TWO: &str = r#"
why = "2.6: the start is random"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example"]'
%MORE%
[[origin]]
url = "https://a.example"
script = [{ status = 200, repeat = true }]
[[origin]]
url = "https://b.example"
script = [{ status = 200, repeat = true }]
[[step]]
request = { target = "/ready" }
answer = { status = 200 }
"#;

#[test]
fn parallel_requests_are_never_mixed_up() {
    for world in World::ALL {
        for (client, origin) in [("1.1", "1.1"), ("2", "2")] {
            let case = parse("parallel", &echoes(client, origin));
            let found = case.and_then(|case| Ok(driver(world)?.run(&case)));
            assert_eq!(found, Ok(Vec::new()), "{world:?}, h{client} to h{origin}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_random_start_spreads_over_the_origins() {
    for world in World::ALL {
        let [a, b] = first_contacts(world, "").await.expect("a run");
        assert_eq!(a + b, 100);
        // Less than 20 or more than 80 out of 100 happen once in a thousand million runs.
        assert!((20..=80).contains(&a), "{world:?}: {a} of 100 requests began at the first origin");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_attempt_always_goes_to_the_first_origin() {
    for world in World::ALL {
        assert_eq!(first_contacts(world, "LB_MAX_ATTEMPTS = \"1\"").await, Ok([100, 0]));
    }
}

fn echoes(client: &str, origin: &str) -> String {
    let mut text = ECHO.replace("script", &format!("version = \"{origin}\"\nscript"));
    for number in 0..64 {
        let together = number > 0;
        let body = format!("[{{ repeat = \"{number:02},\", bytes = {} }}, \"end\"]", 3000 * number);
        let target = format!("method = \"POST\"\ntarget = \"/webhook/tg?n={number}\"");
        let _ = write!(
            text,
            "[[step]]\nwith_previous = {together}\n\
             [step.request]\nversion = \"{client}\"\n{target}\nbody = {body}\n\
             [step.answer]\nstatus = 200\nbody = {body}\n\
             [[step.upstream]]\norigin = \"https://a.example\"\n{target}\nbody = {body}\n",
        );
    }
    text
}

async fn first_contacts(world: World, more: &str) -> Result<[usize; 2], String> {
    let driver = driver(world)?;
    let case: Case = parse("spread", &TWO.replace("%MORE%", more))?;
    let network = Network::start(&case, driver.authority()).await?;
    let host = Host::start(&driver.launch(&case, &network)).await?;
    let target = driver.target(&host);
    let request = &case.step.first().ok_or("no step")?.request;
    for _ in 0..100 {
        let outcome = send(&target, request, Duration::from_secs(10)).await;
        if !matches!(&outcome, Outcome::Answer(answer) if answer.status == 200) {
            return Err(format!("{outcome:?}"));
        }
    }
    let seen = network.recorder.since(0);
    host.stop().await?;
    Ok(["https://a.example", "https://b.example"]
        .map(|origin| seen.iter().filter(|request| request.origin == origin).count()))
}

fn driver(world: World) -> Result<Component, String> {
    Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))
}
