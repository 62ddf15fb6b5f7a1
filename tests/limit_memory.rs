//! What an instance remembers for its limits stays within a cap, in bytes as the allocator counts
//! them.

use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::limit::limiter::Limiter;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upgrade::Scheme;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Twice 24 bytes for each of 5 000 buckets, because a list grows by doubling, and one request.
const MOST_BYTES: usize = 256 * 1024;

const POLICY: &str = r#"{"version": 1,
    "routes": [{"path": "/ready", "methods": ["GET"], "limit": "api"}],
    "limits": {"api": {"key": "user", "limit": 120, "window_s": 60}}}"#;

#[test]
fn a_million_keys_take_less_than_256_kib() {
    let settings = Settings::from_vars(|name| match name {
        "BACKEND_ORIGINS_JSON" => Some(r#"["https://a.example"]"#.to_owned()),
        "LB_POLICY_JSON" => Some(POLICY.to_owned()),
        _ => None,
    });
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut limiter = Limiter::new([1, 2], settings.max_entries());
    for user in 0..1_000_000_u64 {
        let head = RequestHead {
            method: "GET",
            path_with_query: Some("/ready"),
            scheme: Some(Scheme::Https),
            authority: Some("lb.example"),
            headers: Headers::from([("authorization", user.to_string().as_str())]),
            peer: None,
        };
        // Some 100 000 within each window.
        let now = Millis(1_700_000_000_000 + user * 6 / 10);
        let decision = admit(&settings, head).counted(|gate| limiter.count(gate, now));
        assert!(!matches!(decision, Decision::Health(_)));
    }
    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak > 5000 * 24, "nothing was measured: {peak} bytes");
    assert!(peak < MOST_BYTES, "{peak} bytes");
}
