//! The drivers: each turns a case into evidence in its own way, and all are judged alike.

mod bare;
mod component;
mod envoy;
mod host;
mod sockets;
mod stock;
mod world;

use crate::case::Case;
use crate::check::Difference;
use crate::evidence::Evidence;
use crate::origin::Recorder;

pub use bare::Bare;
pub use component::Component;
pub use envoy::{envoy_binary, filter, trapping_filter};
pub use host::{Host, Launch, READY};
pub use stock::Stock;
pub use world::{World, host_binary};

/// The names that `exceptions.toml` may use.
pub const DRIVERS: &[&str] = &["bare", "component", "service", "envoy"];

/// Runs cases.
pub trait Driver {
    /// The name in `exceptions.toml`.
    fn name(&self) -> &'static str;

    /// Runs one case; everything in which it differs from what the case expects.
    fn differences(&self, case: &Case) -> Vec<Difference>;

    /// The same in words.
    fn run(&self, case: &Case) -> Vec<String> {
        self.differences(case).iter().map(Difference::to_string).collect()
    }
}

/// What the origins complained of since the group before is this group's.
fn add_complaints(recorder: &Recorder, evidence: &mut Evidence) {
    let known = evidence.complaints.iter().map(Vec::len).sum();
    evidence.complaints.push(recorder.complaints_since(known));
}

/// What they complained of after the last group is that group's.
fn add_late_complaints(recorder: &Recorder, evidence: &mut Evidence) {
    let known = evidence.complaints.iter().map(Vec::len).sum();
    let late = recorder.complaints_since(known);
    if let Some(last) = evidence.complaints.last_mut() {
        last.extend(late);
    }
}
