//! `serve`: puts the host together, keeps it running, reloads and ends it by signals.

mod reload;
mod signals;
mod stop;

use std::fmt::Display;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::arguments::{Limits, ServeArguments};
use crate::demo::Demo;
use crate::instance::Instances;
use crate::{component, listener};
use reload::Source;
pub(crate) use stop::{Stop, Stopping};

/// What all connections share.
pub(crate) struct Host {
    limits: Limits,
    certificate: ArcSwap<ServerConfig>,
    instances: ArcSwap<Instances>,
    places: Arc<Semaphore>,
    stop: Stop,
}

impl Host {
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The certificate for a new connection.
    pub(crate) fn certificate(&self) -> Arc<ServerConfig> {
        self.certificate.load_full()
    }

    /// The instances for a new request.
    pub(crate) fn instances(&self) -> Arc<Instances> {
        self.instances.load_full()
    }

    /// A place for one connection, as soon as there is one.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    pub(crate) fn stopping(&self) -> Stopping {
        self.stop.subscribe()
    }
}

pub(crate) fn run(arguments: ServeArguments) -> ExitCode {
    raise_file_limit();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(serve(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn serve(arguments: ServeArguments) -> Result<(), String> {
    let mut signals = signals::Signals::listen().map_err(|error| error.to_string())?;
    let demo = Demo::of(&arguments).await?;
    let listeners = listener::bind_all(&arguments.listen)
        .map_err(|(address, error)| format!("--listen {address}: {error}"))?;
    let engine = component::load(arguments.component.as_deref(), &arguments.limits)
        .map_err(|error| error.to_string())?;
    let limits = arguments.limits;
    let source = Source::new(arguments, demo, engine);
    let loaded = source.load()?;
    loaded.instances.warm().await?;
    let places = usize::try_from(limits.max_connections.get()).unwrap_or(Semaphore::MAX_PERMITS);
    let host = Arc::new(Host {
        limits,
        certificate: ArcSwap::new(loaded.certificate),
        instances: ArcSwap::new(loaded.instances),
        places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
        stop: Stop::new(),
    });
    let addresses = accept_all(&host, listeners).map_err(|error| error.to_string())?;
    announce(&addresses, source.demo());
    signals.obey(&host, &source).await;
    Ok(())
}

fn accept_all(host: &Arc<Host>, listeners: Vec<TcpListener>) -> std::io::Result<Vec<SocketAddr>> {
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
    for listener in listeners {
        tokio::spawn(listener::accept(Arc::clone(host), listener));
    }
    Ok(addresses)
}

/// The lines on standard output that say where the host can be reached, in the order of the flags.
fn announce(addresses: &[SocketAddr], demo: Option<&Demo>) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone does not stop the host.
    for address in addresses {
        let _ = writeln!(out, "listening on http://{address}");
    }
    if let (Some(demo), Some(first)) = (demo, addresses.first()) {
        let _ = write!(out, "{}", demo.invitation(*first));
    }
    let _ = out.flush();
}

/// Ten thousand connections need as many file descriptors on either side; systems start
/// processes with far fewer unless they ask (setrlimit, RLIMIT_NOFILE).
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Refused: the host goes on with what it has.
    let _ = setrlimit(Resource::Nofile, raised);
}

fn failed(error: &dyn Display) -> ExitCode {
    eprintln!("messageweave-lb: {error}");
    ExitCode::FAILURE
}
