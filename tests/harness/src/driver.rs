//! The drivers: each turns a case into evidence in its own way, and all are judged alike.

mod bare;
mod component;
mod envoy;
mod host;
mod sockets;
mod stock;
mod world;

use crate::case::Case;

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
    fn run(&self, case: &Case) -> Vec<String>;
}
