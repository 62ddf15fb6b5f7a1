//! The balancer's policy as a proxy-wasm module for Envoy: **the filter decides, Envoy's router
//! makes the tries.** Bodies stream and connections pool in Envoy; nothing passes through callouts
//! but the health probes.
//!
//! ```text
//!            client request
//!                  │
//!           ┌──────▼──────┐ admission: reply, health view, or a plan:
//!  stream   │  admission  │ `x-lb-cluster` names the rotation that starts at the chosen origin
//!           └──────┬──────┘
//!           ┌──────▼──────┐ attempts, clocks and replay as the rendered routes say;
//!  Envoy    │   router    │ a failed try is told to `attempts`, which logs it
//!           └──────┬──────┘
//!           ┌──────▼──────┐ a redirect of an origin: followed by the policy's rule, or marked so
//!  try      │  redirects  │ that the router passes it on
//!           └──────┬──────┘
//!                  └──► origin
//! ```
//!
//! One module, three roles, chosen by the plugin's configuration (see [`wiring`]). No rule of the
//! policy is written again here. Only the hostcalls' file talks to the host.

pub mod cluster;
pub mod failure;
pub mod marker;
pub mod wiring;

#[cfg(target_family = "wasm")]
mod admission;
#[cfg(target_family = "wasm")]
mod answer;
#[cfg(target_family = "wasm")]
mod attempts;
#[cfg(target_family = "wasm")]
mod entry;
#[cfg(target_family = "wasm")]
mod environment;
#[cfg(target_family = "wasm")]
mod health;
#[cfg(target_family = "wasm")]
mod hop;
#[cfg(target_family = "wasm")]
mod hostcalls;
#[cfg(target_family = "wasm")]
mod limits;
#[cfg(target_family = "wasm")]
mod plugin;
#[cfg(target_family = "wasm")]
mod redirects;
#[cfg(target_family = "wasm")]
mod streams;
