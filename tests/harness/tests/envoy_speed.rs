//! What the filter costs: calls between Envoy and the module, counted; and the filter beside the same
//! Envoy with the same routes and no WebAssembly. The latter takes more than a minute and wants an idle machine,
//! so only `make bench` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::envoy::{Envoy, free, render, without_filter, without_tls};
use messageweave_lb_harness::load::{answers, load};
use serde_json::Value;

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_secs(2);
const CONNECTIONS: usize = 16;
/// What the filter may cost: requests per second as a share of those without it.
const LEAST: [(&str, f64); 2] = [("/ready", 0.80), ("/", 0.85)];
const ORIGINS: &str = r#"["https://a.example","https://b.example","https://c.example"]"#;

/// Calls of the module to Envoy for a small GET, and of Envoy to the module, allocations aside.
const CALLS: (usize, usize) = (1, 1);
const COUNTED: usize = 20;

#[test]
fn a_small_get_costs_one_hostcall_and_one_callback() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("calls-{}", std::process::id()));
    let [origin, listen] = [free().unwrap(), free().unwrap()];
    let _origin = Envoy::start(
        &folder.join("origin"),
        &messageweave_lb_harness::envoy::origin(origin),
        &["--concurrency", "1"],
    )
    .unwrap();
    let bootstrap = changed(listen, origin, |_| {});
    let flags = ["--concurrency", "1", "--component-log-level", "wasm:trace"];
    let envoy = Envoy::start(&folder.join("traced"), &bootstrap, &flags).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = request("/ready");
    let mut before = (0, 0);
    for round in 0..2 {
        let answers = runtime.block_on(answers(listen, &[request.as_str(); COUNTED]));
        assert_eq!(answers.len(), COUNTED, "{}", envoy.log());
        let log = settled(&envoy);
        let count = |mark: &str| {
            log.lines().filter(|line| line.contains(mark) && !line.contains("memory_allocate")).count()
        };
        let after = (count("[vm->host]"), count("[host->vm]"));
        // The first round holds what comes once.
        if round == 1 {
            let calls =
                ((after.0 - before.0) as f64 / COUNTED as f64, (after.1 - before.1) as f64 / COUNTED as f64);
            assert_eq!(calls, (CALLS.0 as f64, CALLS.1 as f64), "{log}");
        }
        before = after;
    }
}

/// The log once the last stream is deleted.
fn settled(envoy: &Envoy) -> String {
    let mut last = String::new();
    loop {
        let log = envoy.log();
        if log == last {
            return log;
        }
        last = log;
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn request(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\nuser-agent: bench\r\naccept: */*\r\n\r\n"
    )
}

#[test]
#[ignore = "a measurement: `make bench`"]
fn the_filter_keeps_most_of_the_speed_of_envoy() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("speed-{}", std::process::id()));
    let [origin, with, without] = [free().unwrap(), free().unwrap(), free().unwrap()];
    let _origin = Envoy::start(
        &folder.join("origin"),
        &messageweave_lb_harness::envoy::origin(origin),
        &["--concurrency", "1"],
    )
    .unwrap();
    let with = (start(&folder, "with", with, origin, |_| {}), with);
    let without = (start(&folder, "without", without, origin, without_filter), without);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut slow = Vec::new();
    for (path, least) in LEAST {
        let request = request(path);
        let mut shares = Vec::new();
        let mut costs = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let mut rates = Vec::new();
            for (index, (envoy, address)) in [&without, &with].into_iter().enumerate() {
                let before = envoy.ticks();
                let done = runtime.block_on(load(*address, request.as_bytes(), CONNECTIONS, ROUND));
                assert_eq!(done.failures, 0, "{}", envoy.log());
                rates.push(done.answers as f64);
                costs[index].push((envoy.ticks() - before) as f64 * 10_000.0 / done.answers as f64);
            }
            shares.push(rates[1] / rates[0]);
            println!(
                "{path}: {:.0}/s without, {:.0}/s with",
                rates[0] / ROUND.as_secs_f64(),
                rates[1] / ROUND.as_secs_f64()
            );
        }
        let share = median(&mut shares);
        let [cost_without, cost_with] = costs.map(|mut costs| median(&mut costs));
        println!(
            "{path}: {share:.2} of the requests/s; {cost_without:.0} us and {cost_with:.0} us of processor time per request"
        );
        if share < least {
            slow.push(format!("{path}: {share:.2} is below {least}"));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn start(
    folder: &Path,
    name: &str,
    listen: SocketAddr,
    origin: SocketAddr,
    change: impl Fn(&mut Value),
) -> Envoy {
    let bootstrap = changed(listen, origin, change);
    Envoy::start(&folder.join(name), &bootstrap, &["--concurrency", "1"]).unwrap()
}

/// The rendered configuration without TLS, so that the measure is not OpenSSL's.
fn changed(listen: SocketAddr, origin: SocketAddr, change: impl Fn(&mut Value)) -> Value {
    let variables = [("BACKEND_ORIGINS_JSON", ORIGINS), ("LB_TRUST_FORWARDED_PROTO", "1")];
    let resolves = ["a", "b", "c"].map(|name| format!("{name}.example:443={origin}"));
    let listen = listen.to_string();
    let mut flags = vec!["--listen", &listen];
    resolves.iter().for_each(|resolve| flags.extend(["--resolve", resolve]));
    let mut bootstrap = render(&flags, &variables).unwrap();
    without_tls(&mut bootstrap);
    change(&mut bootstrap);
    bootstrap
}
