//! The command line: names, defaults and what each flag means.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::journal::LogFormat;
use crate::upstream::Route;
use crate::world::World;

/// MessageWeave edge load balancer: serves the WebAssembly component on real sockets.
#[derive(Parser)]
#[command(name = "messageweave-lb", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve the component over http and https on the same ports.
    Serve(Box<ServeArguments>),
    /// Print the effective settings, or every configuration error; exit code 0 or 1.
    Check(CheckArguments),
    /// Print a configuration of Envoy that does what `serve` does, made from the same variables.
    EnvoyConfig(EnvoyArguments),
    /// Run Envoy on that configuration: $ENVOY, envoy on PATH, or the one that `make` fetched.
    Envoy(EnvoyRunArguments),
    #[command(name = "envoy-watch", hide = true)]
    EnvoyWatch(EnvoyWatchArguments),
}

/// Where the documented variables come from: the process environment, then a file, then flags.
#[derive(Args, Clone)]
pub(crate) struct EnvironmentArguments {
    /// Set one documented variable; overrides the file and the process environment. Repeatable.
    // Parsed later: an error of the argument parser would repeat the value, which may be a secret.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) assignments: Vec<String>,
    /// Read NAME=VALUE lines (no quoting, `#` starts a comment line); `serve` reads it again on
    /// SIGHUP.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// The component to run, of wasi:http 0.2 (dist/messageweave-lb.wasm) or 0.3
    /// (dist/messageweave-lb-p3.wasm) [default: messageweave-lb.wasm beside the executable, else in
    /// dist/ of the project].
    #[arg(long, value_name = "FILE")]
    pub(crate) component: Option<PathBuf>,
    /// Address to listen on, plain http and TLS alike; port 0 takes a free one. Repeatable.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Certificate chain for clients (PEM); without it one for localhost is made at start.
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of --cert (PEM).
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Trust these certificates for origins, besides the public roots. Repeatable.
    #[arg(long, value_name = "PEM")]
    pub(crate) ca: Vec<PathBuf>,
    /// Connect to ADDR:PORT for the origin HOST:PORT; Host, SNI and certificate stay. Repeatable.
    #[arg(long, value_name = "HOST:PORT=ADDR:PORT")]
    pub(crate) resolve: Vec<Route>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentArguments,
    /// Start two small backends on this machine and balance over them.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) reports: Reports,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// What the host tells of its work.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Reports")]
pub(crate) struct Reports {
    /// How lines on standard error are written; json: one object per line.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) log: LogFormat,
    /// Write a line per request on standard output, in the format of --log: method, path (without
    /// query), status, origin, attempts, milliseconds, and `broken-off` if the answer was.
    #[arg(long)]
    pub(crate) access_log: bool,
    /// Serve counters and durations at http://ADDR/metrics, as Prometheus reads them.
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// What a client may ask of the host.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Request head, in bytes; its target has at most 65534, whatever is given.
    #[arg(long, value_name = "BYTES", default_value = "65536",
          value_parser = clap::value_parser!(u32).range(8192..=1_048_576))]
    pub(crate) max_head_bytes: u32,
    /// Fields of a request head.
    #[arg(long, value_name = "COUNT", default_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub(crate) max_head_fields: u32,
    /// Time for the TLS handshake, and then for each request head from its first byte.
    #[arg(long, value_name = "MS", default_value = "10000")]
    pub(crate) head_timeout_ms: NonZeroU64,
    /// Time that a kept-alive connection may stay idle between requests.
    #[arg(long, value_name = "MS", default_value = "60000")]
    pub(crate) idle_timeout_ms: NonZeroU64,
    /// Client connections at once; further ones wait to be accepted.
    #[arg(long, value_name = "COUNT", default_value = "10000")]
    pub(crate) max_connections: NonZeroU32,
    /// Instances of a component of wasi:http 0.3, each shared by any number of requests, and threads
    /// to run them on, at most one per core; what an instance keeps is its own.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) instances: u32,
    /// Instances of a component of wasi:http 0.2 at once, one per request in flight; further
    /// requests wait up to 10 s and are then answered with 503.
    #[arg(long, value_name = "COUNT", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_instances: u32,
    /// Linear memory of one instance, in bytes; an instance that wants more traps [default:
    /// 67108864 for wasi:http 0.2, 4294967296 for 0.3, where many requests share it].
    #[arg(long, value_name = "BYTES")]
    pub(crate) instance_memory: Option<NonZeroUsize>,
}

/// Linear memory of an instance with one request.
const MEMORY: usize = 64 * 1024 * 1024;
/// Linear memory of an instance with many: all that 32 bits can address.
const SHARED_MEMORY: usize = 4 * 1024 * 1024 * 1024;
/// Configurations of which instances may live at once.
pub(crate) const GENERATIONS: usize = 16;

impl Limits {
    /// Linear memory of one instance, in bytes.
    pub(crate) fn memory_of(&self, world: World) -> usize {
        self.instance_memory.map_or(
            match world {
                World::Proxy => MEMORY,
                World::Service => SHARED_MEMORY,
            },
            NonZeroUsize::get,
        )
    }

    /// Slots for instances. A slot is to spare while a replaced configuration gives up its idle
    /// instances; of the shared ones, those of a configuration that was replaced live on beside the new ones
    /// until their last answer is taken.
    pub(crate) fn instances_of(&self, world: World) -> u32 {
        match world {
            World::Proxy => self.max_instances.saturating_add(1),
            World::Service => self.instances.saturating_mul(u32::try_from(GENERATIONS).unwrap_or(u32::MAX)),
        }
    }
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) environment: EnvironmentArguments,
    /// Check besides that this configuration of Envoy was rendered from the same variables.
    #[arg(long, value_name = "FILE")]
    pub(crate) envoy_config: Option<PathBuf>,
}

/// What a configuration of Envoy is made from.
#[derive(Args, Clone)]
pub(crate) struct EnvoyConfigArguments {
    /// Address to listen on, plain http and TLS alike. Repeatable.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Certificate chain for clients (PEM). Without it `envoy` makes one for localhost, and
    /// `envoy-config` leaves TLS to a terminator in front.
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of --cert (PEM).
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Trust these certificates for origins instead of the system's
    /// (/etc/ssl/certs/ca-certificates.crt).
    #[arg(long, value_name = "PEM")]
    pub(crate) ca: Option<PathBuf>,
    /// The filter [default: dist/messageweave-lb-envoy.wasm, in the working directory or, for `envoy`, in
    /// the project].
    #[arg(long, value_name = "FILE")]
    pub(crate) filter: Option<PathBuf>,
    /// Connect to ADDR:PORT for the origin HOST:PORT; Host, SNI and certificate stay. Repeatable.
    #[arg(long, value_name = "HOST:PORT=ADDR:PORT")]
    pub(crate) resolve: Vec<Route>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentArguments,
}

#[derive(Args)]
pub(crate) struct EnvoyArguments {
    #[command(flatten)]
    pub(crate) config: EnvoyConfigArguments,
    /// Address of Envoy's admin interface [default: none].
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<SocketAddr>,
}

#[derive(Args)]
pub(crate) struct EnvoyRunArguments {
    #[command(flatten)]
    pub(crate) config: EnvoyConfigArguments,
    /// Address of Envoy's admin interface, with a port of its own [default: a socket that only this user can
    /// open].
    #[arg(long, value_name = "ADDR", value_parser = with_port)]
    pub(crate) admin: Option<SocketAddr>,
    /// Further arguments of Envoy, such as `-- --concurrency 2`.
    #[arg(last = true, value_name = "ENVOY ARGUMENT")]
    pub(crate) more: Vec<String>,
}

/// Nobody could tell which port Envoy took for its admin interface, which says when it serves.
fn with_port(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "no ADDR:PORT".to_owned())?;
    match address.port() {
        0 => Err("give a port: Envoy is asked there whether it serves".to_owned()),
        _ => Ok(address),
    }
}

/// The helper process of `envoy`.
#[derive(Args)]
pub(crate) struct EnvoyWatchArguments {
    pub(crate) folder: PathBuf,
    /// An address or the path of a socket.
    pub(crate) admin: PathBuf,
}
