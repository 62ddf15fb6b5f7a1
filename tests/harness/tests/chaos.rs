//! Chaos through each build: a thousand requests here, fifty thousand by `make chaos`.
//! `SEED` and `REQUESTS` change the run.
#![allow(clippy::panic, reason = "the helpers of tests are tests")]

use std::path::Path;

use messageweave_lb_harness::chaos::{Plan, run};
use messageweave_lb_harness::driver::World;

const CONCURRENCY: usize = 64;
const SMOKE: u64 = 1000;
const LONG: u64 = 50_000;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_on_0_2() {
    chaos(World::Proxy, SMOKE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_on_0_3() {
    chaos(World::Service, SMOKE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_in_envoy() {
    chaos(World::Envoy, SMOKE).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: `make chaos`"]
async fn chaos_for_long_on_0_2() {
    chaos(World::Proxy, LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: `make chaos`"]
async fn chaos_for_long_on_0_3() {
    chaos(World::Service, LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: `make chaos`"]
async fn chaos_for_long_in_envoy() {
    chaos(World::Envoy, LONG).await;
}

async fn chaos(world: World, requests: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (seed, requests) = (number("SEED").unwrap_or(1), number("REQUESTS").unwrap_or(requests));
    let plan = Plan { world, seed, requests, concurrency: CONCURRENCY };
    match run(plan, Path::new(env!("CARGO_TARGET_TMPDIR"))).await {
        Ok(report) => println!("{report}"),
        Err(faults) => panic!("{faults}"),
    }
}
