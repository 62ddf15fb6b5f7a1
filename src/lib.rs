//! messageweave-lb: edge load-balancing policy that runs anywhere.
//!
//! ```text
//!            client request
//!                  │
//!   shell   ┌──────▼──────┐  a wasi:http component (src/component/) or another host's filter
//!           │  translate  │
//!           └──────┬──────┘
//!   policy  ┌──────▼──────┐  head + configuration
//!           │  admission  │──► reply (400 308 404 405 503) ──► client
//!           │             │──► health view (probes, cache) ──► client
//!           └──────┬──────┘
//!                  │ plan: target, budget, order of origins
//!           ┌──────▼──────┐  Send ──► shell ──► origin
//!           │  exchange   │  Wait ◄── shell ◄── head, failure, bytes, clock
//!           └──────┬──────┘
//!                  └──► answer (streamed by the shell) or 503
//! ```
//!
//! Two shells speak `wasi:http`: `src/component/` version 0.2, one request per instance at a time;
//! `src/service/` version 0.3, many at once. What they share is in `src/wasi/`.
//!
//! [`policy`] decides and is pure; the shells translate and never decide. A host with a router of
//! its own stops at the plan.

pub mod cancellation;
pub mod policy;

#[cfg(all(feature = "component", target_os = "wasi", target_env = "p2"))]
mod component;
#[cfg(all(feature = "p3", target_os = "wasi", target_env = "p2"))]
mod service;
#[cfg(all(any(feature = "component", feature = "p3"), target_os = "wasi", target_env = "p2"))]
mod wasi;
