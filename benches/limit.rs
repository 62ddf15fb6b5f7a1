//! What a limit costs: admission of a request that is limited beside one that is not, with 5 000
//! live keys in the table. `cargo bench --bench limit` prints it, and fails where it is a
//! microsecond or more.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measure"
)]

use criterion::{Criterion, criterion_group, criterion_main};
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::limit::limiter::Limiter;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upgrade::Scheme;
use std::hint::black_box;
use std::time::{Duration, Instant};

const POLICY: &str = r#"{"version": 1,
    "routes": [
        {"path": "/open", "methods": ["GET"]},
        {"path": "/limited", "methods": ["GET"], "limit": "api"}
    ],
    "limits": {"api": {"key": "user", "limit": 4294967, "window_s": 2147483647}}}"#;
const NOW: Millis = Millis(1_700_000_000_000);
const KEYS: u32 = 5000;
const BOUND: Duration = Duration::from_micros(1);

struct Balancer {
    settings: Settings,
    limiter: Limiter,
}

impl Balancer {
    /// With as many live keys as there is room for.
    fn full() -> Self {
        let settings = Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(r#"["https://a.example","https://b.example"]"#.to_owned()),
            "LB_POLICY_JSON" => Some(POLICY.to_owned()),
            _ => None,
        });
        let limiter = Limiter::new([1, 2], settings.max_entries());
        let mut balancer = Self { settings, limiter };
        (0..KEYS).for_each(|user| balancer.forward("/limited", headers(user)));
        balancer
    }

    fn forward(&mut self, path: &str, headers: Headers) {
        let head = RequestHead {
            method: "GET",
            path_with_query: Some(path),
            scheme: Some(Scheme::Https),
            authority: Some("lb.example"),
            headers,
            peer: None,
        };
        let decision = admit(&self.settings, black_box(head)).counted(|gate| self.limiter.count(gate, NOW));
        assert!(matches!(black_box(decision), Decision::Forward(_)));
    }
}

/// What a browser sends, with a token of ordinary length.
fn headers(user: u32) -> Headers {
    let token = format!("Bearer {}{user}", "eyJhbGciOiJFZERTQSJ9.".repeat(12));
    Headers::from([
        ("accept", "application/json"),
        ("accept-encoding", "gzip, br"),
        ("authorization", token.as_str()),
        ("cookie", "theme=dark"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ])
}

fn limit(criterion: &mut Criterion) {
    for (name, path, users) in [
        ("admission/unlimited", "/open", 0..KEYS),
        ("admission/limited, 5000 live keys", "/limited", 0..KEYS),
        ("admission/limited, no room for the key", "/limited", KEYS..2 * KEYS),
    ] {
        // Each its own: those for whom there is no room share a count, which ends at the limit.
        let mut balancer = Balancer::full();
        let mut users = users.cycle();
        let mut next = || headers(users.next().unwrap());
        criterion.bench_function(name, |bencher| {
            bencher.iter_batched(
                &mut next,
                |headers| balancer.forward(path, headers),
                criterion::BatchSize::SmallInput,
            );
        });
    }
    check(&mut Balancer::full());
}

/// The smallest of many rounds of each, in turn: what other programs do to a round is left out.
fn check(balancer: &mut Balancer) {
    let mut round = |path: &str| {
        let requests: Vec<_> = (0..KEYS).map(headers).collect();
        let begun = Instant::now();
        requests.into_iter().for_each(|headers| balancer.forward(path, headers));
        begun.elapsed() / KEYS
    };
    let (mut open, mut limited) = (Duration::MAX, Duration::MAX);
    for _ in 0..50 {
        open = open.min(round("/open"));
        limited = limited.min(round("/limited"));
    }
    let more = limited.saturating_sub(open);
    println!("a limited request costs {more:?} more: {limited:?} against {open:?}");
    assert!(more < BOUND, "over the bound of {BOUND:?}");
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    targets = limit
}
criterion_main!(benches);
