//! A table of buckets stays within its cap, in bytes as the allocator counts them.

use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::limit::limiter::Limiter;
use messageweave_lb::policy::limit::rule::{
    ClientAddress, DEFAULT_CODE, DEFAULT_MAX_ENTRIES, DEFAULT_USER_HEADER, KeyKind, Limit,
};
use messageweave_lb::policy::limit::table::Counted;
use messageweave_lb::policy::time::Millis;
use peak_alloc::PeakAlloc;
use std::num::NonZeroU32;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Twice 24 bytes for each of 5 000 buckets, because a list grows by doubling, and the shelves.
const MOST_BYTES: usize = 256 * 1024;

#[test]
fn a_million_keys_take_less_than_256_kib() {
    let limit = Limit {
        name: "api".to_owned(),
        key: KeyKind::User,
        user_header: DEFAULT_USER_HEADER.to_owned(),
        client_address: ClientAddress::Connection,
        limit: NonZeroU32::new(120).unwrap(),
        window_s: NonZeroU32::new(60).unwrap(),
        code: DEFAULT_CODE.to_owned(),
    };
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut limiter = Limiter::new([1, 2], DEFAULT_MAX_ENTRIES);
    for user in 0..1_000_000_u64 {
        let headers = Headers::from([("authorization", user.to_string().as_str())]);
        let request = Counted::of(limiter.secret(), &limit, &headers, None);
        // Some 100 000 within each window.
        limiter.count(request, Millis(1_700_000_000_000 + user * 6 / 10));
    }
    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak > 5000 * 24, "nothing was measured: {peak} bytes");
    assert!(peak < MOST_BYTES, "{peak} bytes");
}
