//! The corpus on the policy alone.

use messageweave_lb_harness::corpus;
use messageweave_lb_harness::driver::Bare;

#[test]
fn every_case_holds_for_the_bare_policy() {
    if let Err(faults) = corpus::run(&Bare::new(), 2) {
        panic!("{faults}");
    }
}
