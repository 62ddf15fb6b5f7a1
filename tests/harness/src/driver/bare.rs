//! The policy alone, on a virtual clock: admission, exchange and health view with a simulated
//! network that plays the same scripts. What belongs to a host (TLS, framing, parsing) is not here.

mod client;
mod exchange;
mod log;
mod origin;
mod step;
mod world;

use std::rc::Rc;

use futures_util::future::join_all;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::{Driver, add_complaints, add_late_complaints};
use crate::case::Case;
use crate::check::{Difference, differences, groups};
use crate::evidence::Evidence;
use world::World;

/// The driver `bare`.
#[derive(Default)]
pub struct Bare(());

/// A case that names no start must hold for each of these dice.
const DICE: [u64; 3] = [0, 1, 2];

impl Bare {
    /// The driver.
    #[must_use]
    pub fn new() -> Self {
        log::capture();
        Self(())
    }
}

impl Driver for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }

    fn differences(&self, case: &Case) -> Vec<Difference> {
        let starts = if case.first.is_some() { &DICE[..1] } else { &DICE[..] };
        starts.iter().flat_map(|dice| run_with(case, *dice)).collect()
    }
}

fn run_with(case: &Case, dice: u64) -> Vec<Difference> {
    let mut builder = Builder::new_current_thread();
    let runtime = match builder.enable_time().start_paused(true).build() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Difference::of_the_run(error.to_string())],
    };
    log::take();
    let mut evidence = LocalSet::new().block_on(&runtime, play(case, dice));
    evidence.log = log::take();
    let told = |difference: Difference| difference.told(&format!("dice {dice}"));
    differences(case, &evidence).into_iter().map(told).collect()
}

async fn play(case: &Case, dice: u64) -> Evidence {
    let world = Rc::new(World::new(case, dice));
    let mut evidence = Evidence::default();
    let mut seen = 0;
    let mut counts = Vec::new();
    for group in groups(case) {
        let steps = group.iter().map(|step| step::play(&world, step));
        evidence.outcomes.extend(join_all(steps).await);
        let count = world.recorder.since(seen).len();
        seen += count;
        counts.push(count);
        add_complaints(&world.recorder, &mut evidence);
    }
    // What the origins still do with a request that nobody waits for is done by then.
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let mut rest = world.recorder.since(0);
    for count in counts {
        let later = rest.split_off(count.min(rest.len()));
        evidence.upstream.push(std::mem::replace(&mut rest, later));
    }
    add_late_complaints(&world.recorder, &mut evidence);
    evidence.unused = world.unused();
    evidence
}
