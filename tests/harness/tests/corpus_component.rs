//! The corpus on either component in the native host.

use std::path::Path;

use messageweave_lb_harness::corpus;
use messageweave_lb_harness::driver::{Component, World};

/// Most cases wait for clocks, so many run at once on few cores.
const WIDTH: usize = 12;

#[test]
fn every_case_holds_for_the_component_in_the_host() {
    every_case_holds(World::Proxy);
}

#[test]
fn every_case_holds_for_the_service_in_the_host() {
    every_case_holds(World::Service);
}

fn every_case_holds(world: World) {
    let driver = Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a driver");
    if let Err(faults) = corpus::run(&driver, WIDTH) {
        panic!("{faults}");
    }
}
