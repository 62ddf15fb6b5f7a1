//! The corpus on the filter in a real Envoy.

use std::path::Path;

use messageweave_lb_harness::corpus;
use messageweave_lb_harness::driver::{Component, World};

/// Each case starts an Envoy, which compiles the filter: that is what takes the processor.
const WIDTH: usize = 6;

#[test]
fn every_case_holds_for_the_filter_in_envoy() {
    let driver = Component::new(World::Envoy, Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a driver");
    if let Err(faults) = corpus::run(&driver, WIDTH) {
        panic!("{faults}");
    }
}
