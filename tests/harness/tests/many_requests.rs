//! What only many requests show: none is mixed up with another, and the random start spreads.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::case::{Case, parse};
use messageweave_lb_harness::client::send;
use messageweave_lb_harness::driver::{Component, Driver, Host};
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
ATTEMPTS
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
    for (client, origin) in [("1.1", "1.1"), ("2", "2")] {
        let mut text = ECHO.replace("script", &format!("version = \"{origin}\"\nscript"));
        for number in 0..64 {
            let body = format!("[{{ repeat = \"{number:02},\", bytes = {} }}, \"end\"]", 3000 * number);
            let request =
                format!("version = \"{client}\"\nmethod = \"POST\"\ntarget = \"/webhook/tg?n={number}\"");
            let _ = write!(
                text,
                "[[step]]\nwith_previous = {}\n[step.request]\n{request}\nbody = {body}\n\
                 [step.answer]\nstatus = 200\nbody = {body}\n[[step.upstream]]\n\
                 origin = \"https://a.example\"\nmethod = \"POST\"\n\
                 target = \"/webhook/tg?n={number}\"\nbody = {body}\n",
                number > 0
            );
        }
        let case = parse("parallel", &text).expect("a case");
        assert_eq!(driver().run(&case), Vec::<String>::new(), "h{client} to h{origin}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_random_start_spreads_over_the_origins() {
    let [a, b] = first_contacts("").await;
    assert_eq!(a + b, 100);
    // Less than 20 or more than 80 out of 100 happen once in a thousand million runs.
    assert!((20..=80).contains(&a), "{a} of 100 requests began at the first origin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_attempt_always_goes_to_the_first_origin() {
    assert_eq!(first_contacts("LB_MAX_ATTEMPTS = \"1\"").await, [100, 0]);
}

async fn first_contacts(more: &str) -> [usize; 2] {
    let driver = driver();
    let case: Case = parse("spread", &TWO.replace("ATTEMPTS", more)).expect("a case");
    let network = Network::start(&case, driver.authority()).await.expect("origins");
    let host = Host::start(&driver.launch(&case, &network)).await.expect("a host");
    let target = driver.target(&host);
    let request = &case.step.first().expect("a step").request;
    for _ in 0..100 {
        let outcome = send(&target, request, Duration::from_secs(10)).await;
        assert!(matches!(&outcome, Outcome::Answer(answer) if answer.status == 200), "{outcome:?}");
    }
    let seen = network.recorder.since(0);
    host.stop().await.expect("an orderly end");
    ["https://a.example", "https://b.example"]
        .map(|origin| seen.iter().filter(|request| request.origin == origin).count())
}

fn driver() -> Component {
    Component::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a driver")
}
