//! `serve`: puts the host together, keeps it running, reloads and ends it by signals.

mod reload;
mod signals;
mod start_line;
mod stop;

use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::arguments::{Limits, Reports, ServeArguments};
use crate::demo::Demo;
use crate::instance::{Engine, Instances};
use crate::journal::{self, Level};
use crate::metrics::{self, Metrics};
use crate::record::Observers;
use crate::world::World;
use crate::{component, listener};
use reload::Source;
pub(crate) use stop::{Stop, Stopping};

/// What all connections share.
pub(crate) struct Host {
    limits: Limits,
    certificate: ArcSwap<ServerConfig>,
    instances: ArcSwap<Instances>,
    observers: Arc<Observers>,
    addresses: Vec<SocketAddr>,
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

    pub(crate) fn observers(&self) -> &Arc<Observers> {
        &self.observers
    }

    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
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
    let observers = Arc::new(observers(&arguments.reports));
    let ended = find_component(&arguments).and_then(|found| {
        let runtime = runtime(found.1.world(), &arguments.limits).map_err(|error| error.to_string())?;
        runtime.block_on(serve(arguments, found, Arc::clone(&observers)))
    });
    observers.end();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            journal::say(Level::Error, &error);
            ExitCode::FAILURE
        }
    }
}

fn find_component(arguments: &ServeArguments) -> Result<(PathBuf, Engine), String> {
    let file = arguments.component.clone().map_or_else(component::find, Ok);
    let file = file.map_err(|error| error.to_string())?;
    let engine = component::load(&file, &arguments.limits).map_err(|error| error.to_string())?;
    Ok((file, engine))
}

/// A thread per core; of the 0.3 world a thread per instance, at most. A shared instance works on one core
/// at a time, and a request that goes back and forth between threads costs half as much again.
fn runtime(world: World, limits: &Limits) -> std::io::Result<Runtime> {
    let threads = match world {
        World::Proxy => None,
        World::Service => {
            let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
            Some(usize::try_from(limits.instances).map_or(cores, |instances| instances.min(cores)))
        }
    };
    match threads {
        Some(1) => Builder::new_current_thread().enable_all().build(),
        Some(threads) => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
        None => Builder::new_multi_thread().enable_all().build(),
    }
}

fn observers(reports: &Reports) -> Observers {
    let metrics = reports.metrics.map(|_| Arc::new(Metrics::new()));
    journal::open(reports.log, metrics.clone());
    Observers::new(reports.access_log, reports.log, metrics)
}

async fn serve(
    arguments: ServeArguments,
    found: (PathBuf, Engine),
    observers: Arc<Observers>,
) -> Result<(), String> {
    let mut signals = signals::Signals::listen().map_err(|error| error.to_string())?;
    let demo = Demo::of(&arguments).await?;
    let listeners = listener::bind_all(&arguments.listen)
        .map_err(|(address, error)| format!("--listen {address}: {error}"))?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>();
    let addresses = addresses.map_err(|error| error.to_string())?;
    let scraped = serve_metrics(&arguments.reports, &observers).await?;
    let limits = arguments.limits;
    let source = Source::new(arguments, demo, found, observers.metrics().cloned());
    let loaded = source.load()?;
    loaded.instances.warm().await?;
    source.say("serving", &addresses, &loaded.settings);
    let places = usize::try_from(limits.max_connections.get()).unwrap_or(Semaphore::MAX_PERMITS);
    let host = Arc::new(Host {
        limits,
        certificate: ArcSwap::new(loaded.certificate),
        instances: ArcSwap::new(loaded.instances),
        observers,
        addresses,
        places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
        stop: Stop::new(),
    });
    for listener in listeners {
        tokio::spawn(listener::accept(Arc::clone(&host), listener));
    }
    announce(&host.addresses, scraped, source.demo());
    signals.obey(&host, &source).await;
    Ok(())
}

/// Answers scrapes from now on, and says where.
async fn serve_metrics(reports: &Reports, observers: &Observers) -> Result<Option<SocketAddr>, String> {
    let (Some(address), Some(metrics)) = (reports.metrics, observers.metrics()) else { return Ok(None) };
    let failed = |error| format!("--metrics {address}: {error}");
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    tokio::spawn(metrics::serve(listener, Arc::clone(metrics)));
    Ok(Some(bound))
}

/// The lines on standard output that say where the host can be reached, in the order of the flags.
fn announce(addresses: &[SocketAddr], scraped: Option<SocketAddr>, demo: Option<&Demo>) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone does not stop the host.
    for address in addresses {
        let _ = writeln!(out, "listening on http://{address}");
    }
    if let Some(address) = scraped {
        let _ = writeln!(out, "metrics on http://{address}/metrics");
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
