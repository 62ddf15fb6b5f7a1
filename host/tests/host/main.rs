//! The host as a process on real sockets: what is its own, not the policy's.

mod check;
mod client;
mod connections;
mod demo;
mod departures;
mod failures;
mod faulty;
mod origin;
mod process;
mod requests;
mod signals;
mod trust;
mod uploads;
