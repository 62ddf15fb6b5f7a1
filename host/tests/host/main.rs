//! The host as a process on real sockets: what is its own, not the policy's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, in their helpers too"
)]

mod attacks_h1;
mod attacks_h2;
mod check;
mod client;
mod connections;
mod demo;
mod departures;
mod early_answers;
mod endless;
mod envoy;
mod failures;
mod faulty;
mod frames;
mod framing;
mod h2_origins;
mod origin;
mod outputs;
mod process;
mod recording;
mod records;
mod refusals_h2;
mod reloads;
mod reports;
mod requests;
mod shared;
mod signals;
mod slow_h2;
mod trust;
mod uploads;
