//! The workers of an Envoy count together, however many ask at once, and the address that they count
//! is the connection's own.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::path::Path;

use futures_util::future::join_all;
use messageweave_lb_harness::envoy::{Envoy, free, render};
use messageweave_lb_harness::load::answers;

const POLICY: &str = r#"{"version": 1,
    "routes": [{"path": "/ready", "methods": ["GET"], "limit": "api"}],
    "limits": {"api": {"key": "ip", "limit": 50, "window_s": 2147483647}}}"#;
const WORKERS: &str = "4";
const CONNECTIONS: usize = 20;
const REQUESTS: usize = 10;

#[test]
fn four_workers_forward_exactly_as_many_requests_as_the_limit_says() {
    let address = free().unwrap();
    let listen = address.to_string();
    let flags = ["--listen", &listen, "--resolve", "a.example:443=127.0.0.1:9"];
    let variables = [
        ("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#),
        ("LB_TRUST_FORWARDED_PROTO", "1"),
        ("LB_POLICY_JSON", POLICY),
    ];
    let bootstrap = render(&flags, &variables).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("envoy-limits-{}", std::process::id()));
    let envoy = Envoy::start(&folder, &bootstrap, &["--concurrency", WORKERS]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connections = (0..CONNECTIONS).map(|client| async move {
        // Nobody's word on an address but the connection's own counts.
        let request = format!(
            "GET /ready HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\nx-forwarded-for: 192.0.2.{client}\r\n\r\n"
        );
        answers(address, &[request.as_str(); REQUESTS]).await
    });
    let answers = runtime.block_on(join_all(connections)).concat();
    assert_eq!(answers.len(), CONNECTIONS * REQUESTS, "{}", envoy.log());
    let left = |answer: &String| {
        let (_, rest) = answer.split_once("x-ratelimit-remaining: ")?;
        rest.split("\r\n").next()?.parse::<u32>().ok()
    };
    let mut forwarded: Vec<_> =
        answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 ")).filter_map(left).collect();
    forwarded.sort_unstable();
    assert_eq!(forwarded, (0..50).collect::<Vec<_>>(), "each was counted once");
    let refused = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 429 "));
    assert_eq!(refused.count(), CONNECTIONS * REQUESTS - forwarded.len());
}
