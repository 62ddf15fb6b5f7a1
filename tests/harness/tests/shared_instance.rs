//! One instance of the 0.3 component with many requests in it: none sees another's data, faults are
//! each request's own, and the health view's probes are shared.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::case::{Case, Request, parse};
use messageweave_lb_harness::client::send;
use messageweave_lb_harness::driver::{Component, Driver, Host, World};
use messageweave_lb_harness::evidence::{Content, Outcome, Received};
use messageweave_lb_harness::origin::Network;

/// The first origin has a fault for each of its first requests, the second none.
const MIXED: &str = r#"
why = "64 requests at once in one instance with mixed faults"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example"]'
LB_REQUEST_TIMEOUT_MS = "2000"
LB_WORKER_TIMEOUT_MS = "2000"
[[origin]]
url = "https://a.example"
script = [
    %FAULTS%
    { status = 200, echo = true, repeat = true },
]
[[origin]]
url = "https://b.example"
script = [{ status = 200, echo = true, repeat = true }]
"#;

const FAULTS: [&str; 6] = [
    "{ fault = \"reset\" },",
    "{ fault = \"garbage\" },",
    "{ fault = \"silence\" },",
    "{ status = 502, body = \"another's error\" },",
    "{ status = 200, length = 100, body = [\"half\", { end = \"close\" }] },",
    "{ status = 307, headers = [[\"location\", \"/webhook/tg\"]] },",
];

/// How often each fault is played.
const ROUNDS: usize = 6;

const REQUESTS: usize = 64;

/// For everything that has no time of its own.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a single attempt may end with.
const EXHAUSTED: [&str; 4] = [
    "all backends failed: backend https://a.example unavailable (reset)",
    "all backends failed: backend https://a.example unavailable (protocol)",
    "all backends failed: backend https://a.example unavailable (timeout)",
    "all backends failed: backend https://a.example returned HTTP 502",
];

/// Every second one is a single attempt, which goes to the origin with the faults.
const SINGLE: &str = "/worker";

#[tokio::test(flavor = "multi_thread")]
async fn mixed_faults_are_each_requests_own() {
    for instances in ["1", "3"] {
        let (kinds, silent, printed) = mixed_faults_in(instances).await.expect("answers of their own");
        let count = |kind| kinds.iter().filter(|other| **other == kind).count();
        assert_eq!((kinds.len(), silent, count(Kind::Cut)), (REQUESTS, ROUNDS, ROUNDS), "{kinds:?}");
        assert!(count(Kind::Echoed) > 0 && count(Kind::Exhausted) > 0, "{kinds:?}");
        let trapped = printed.iter().find(|line| line.contains("the component failed"));
        assert_eq!(trapped, None);
    }
}

/// What became of each request, how many an origin kept waiting to the end of the clock, and what
/// the host printed.
async fn mixed_faults_in(instances: &str) -> Result<(Vec<Kind>, usize, Vec<String>), String> {
    let case = parse("mixed", &mixed())?;
    let driver = driver()?.with(&["--instances", instances]);
    let (network, host) = start(&driver, &case).await?;
    let target = driver.target(&host);
    let all = case.step.iter().map(|step| {
        let (target, request) = (target.clone(), step.request.clone());
        tokio::spawn(async move { send(&target, &request, PATIENCE).await })
    });
    let mut kinds = Vec::new();
    for (step, answer) in case.step.iter().zip(all.collect::<Vec<_>>()) {
        let answer = answer.await.map_err(|error| error.to_string())?;
        kinds.push(judge(&step.request, &answer)?);
    }
    let silent = network.recorder.since(0).iter().filter(|request| request.abandoned).count();
    Ok((kinds, silent, host.stop().await?))
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Echoed,
    Cut,
    Exhausted,
}

fn judge(request: &Request, outcome: &Outcome) -> Result<Kind, String> {
    let Outcome::Answer(answer) = outcome else { return Err(format!("{outcome:?}")) };
    let Received { status, body, broken, .. } = answer;
    let own = request.body.as_ref().map(|body| Content::of(body, u64::MAX));
    let text = String::from_utf8_lossy(body.start());
    match (status, broken) {
        (200, None) if Some(body) == own.as_ref() => Ok(Kind::Echoed),
        (200, Some(_)) if text == "half" => Ok(Kind::Cut),
        (503, None) if request.target == SINGLE && EXHAUSTED.contains(&text.as_ref()) => Ok(Kind::Exhausted),
        _ => Err(format!("{answer:?}")),
    }
}

fn mixed() -> String {
    let faults = FAULTS.repeat(ROUNDS).concat();
    let mut text = MIXED.replace("%FAULTS%", &faults);
    for number in 0..REQUESTS {
        let target = if number % 2 == 0 { "/webhook/tg" } else { SINGLE };
        let _ = write!(
            text,
            "[[step]]\n[step.request]\nmethod = \"POST\"\ntarget = \"{target}\"\n\
             body = [{{ repeat = \"{number:02},\", bytes = {} }}, \"end\"]\n\
             [step.answer]\nstatus = 200\n",
            3000 * number
        );
    }
    text
}

/// The origins take their time, so that all requests meet the same probes.
const VIEWS: &str = r#"
why = "2.8: at most one probe per origin is in flight, failures are cached too"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example"]'
[[origin]]
url = "https://a.example"
script = [{ status = 200, delay_ms = 700 }]
[[origin]]
url = "https://b.example"
script = [{ status = 500, delay_ms = 300 }]
"#;

const VIEW: &str = r#"
[step.request]
target = "/healthz-worker"
[step.answer]
status = 200
json = '{"status":"ok","version":"unknown","available":1,"total":2,"backends":[{"origin":"https://a.example","up":true,"status":200},{"origin":"https://b.example","up":false,"status":500}]}'
"#;

const PROBES: &str = r#"
[[step.upstream]]
origin = "https://a.example"
method = "GET"
target = "/healthz"
[[step.upstream]]
origin = "https://b.example"
method = "GET"
target = "/healthz"
"#;

#[test]
fn thirty_views_at_once_cost_a_probe_per_origin() {
    let mut text = format!("{VIEWS}[[step]]\nany_order = true\n{VIEW}{PROBES}");
    for number in 1..60 {
        // The second half comes when the verdicts are known.
        let together = number % 30 != 0;
        let _ = write!(text, "[[step]]\nwith_previous = {together}\n{VIEW}");
    }
    let found = parse("views", &text).and_then(|case| Ok(driver()?.run(&case)));
    assert_eq!(found, Ok(Vec::new()));
}

/// The probe ends by its clock alone; another one would be answered.
const LEFT: &str = r#"
why = "2.8: a client that leaves takes neither the probe along nor those who wait for it"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
LB_REQUEST_TIMEOUT_MS = "3000"
[[origin]]
url = "https://a.example"
script = [{ fault = "silence" }, { status = 204 }]
[[step]]
request = { target = "/healthz-worker" }
answer = { status = 200 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_does_not_take_the_view_of_others_along() {
    let case = parse("left", LEFT).expect("a case");
    let driver = driver().expect("a driver");
    let (network, host) = start(&driver, &case).await.expect("a host");
    let (target, request) = (driver.target(&host), case.step[0].request.clone());
    let leaving = tokio::spawn({
        let (target, request) = (target.clone(), request.clone());
        async move { send(&target, &request, Duration::from_millis(1000)).await }
    });
    let asked = network.recorder.wait(PATIENCE, |recorder| recorder.since(0).len() == 1).await;
    assert!(asked, "no probe");
    let outcome = send(&target, &request, PATIENCE).await;
    assert!(matches!(leaving.await, Ok(Outcome::Hung)));
    let Outcome::Answer(answer) = outcome else { panic!("{outcome:?}") };
    let view = String::from_utf8_lossy(answer.body.start());
    assert!(view.contains(r#""available":0,"total":1"#), "{view}");
    assert_eq!(network.recorder.since(0).len(), 1, "one probe for all");
    host.stop().await.expect("an end");
}

async fn start(driver: &Component, case: &Case) -> Result<(Network, Host), String> {
    let network = Network::start(case, driver.authority()).await?;
    let host = Host::start(&driver.launch(case, &network)).await?;
    Ok((network, host))
}

fn driver() -> Result<Component, String> {
    Component::new(World::Service, Path::new(env!("CARGO_TARGET_TMPDIR")))
}
