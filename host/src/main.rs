//! `messageweave-lb`: the native runner of the balancer. `serve` runs the component in wasmtime
//! behind real sockets, `check` reads the configuration with the policy's own parser.
//!
//! The way of one request through the host:
//!
//! ```text
//! listener -> connection (first byte, TLS, limits) -> front (Host) -> instance (the component)
//!                                                                        |
//!                                             upstream (pooled https) <--+
//! ```

mod arguments;
mod cache;
mod check;
mod component;
mod connection;
mod cores;
mod demo;
mod environment;
mod envoy;
mod front;
mod h2_end;
mod instance;
mod journal;
mod listener;
mod load;
mod metrics;
mod output;
mod record;
mod serve;
mod tls;
mod upstream;
mod world;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

/// A forwarded request makes some hundred small allocations, and frees many on another thread: a seventh of
/// the host's processor time with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::EnvoyConfig(arguments) => envoy::print(&arguments),
        Command::Envoy(arguments) => envoy::run(&arguments),
        Command::EnvoyWatch(arguments) => envoy::watch(&arguments),
    }
}
