//! The corpus on the component in the native host.

use std::path::Path;

use messageweave_lb_harness::corpus;
use messageweave_lb_harness::driver::Component;

/// Most cases wait for clocks, so many run at once on few cores.
const WIDTH: usize = 12;

#[test]
fn every_case_holds_for_the_component_in_the_host() {
    let driver = Component::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a driver");
    if let Err(faults) = corpus::run(&driver, WIDTH) {
        panic!("{faults}");
    }
}
