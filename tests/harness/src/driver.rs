//! The drivers: each turns a case into evidence in its own way, and all are judged alike.

mod bare;
mod component;
mod host;
mod sockets;
mod stock;

use crate::case::Case;

pub use bare::Bare;
pub use component::{Component, component, envoy_binary, filter, host_binary, trapping_filter};
pub use host::{Host, Launch, READY};
pub use stock::Stock;

/// The names that `exceptions.toml` may use.
pub const DRIVERS: &[&str] = &["bare", "component", "envoy"];

/// Runs cases.
pub trait Driver {
    /// The name in `exceptions.toml`.
    fn name(&self) -> &'static str;

    /// Runs one case; everything in which it differs from what the case expects.
    fn run(&self, case: &Case) -> Vec<String>;
}
