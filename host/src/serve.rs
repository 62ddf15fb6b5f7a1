//! `serve`: puts the host together, keeps it running, reloads and ends it by signals.

mod patience;
mod reload;
mod signals;
mod start_line;
mod stop;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::arguments::{Limits, Reports, ServeArguments};
use crate::cores::{self, Cores};
use crate::demo::Demo;
use crate::instance::{Engine, Instances};
use crate::journal::{self, Level};
use crate::metrics::{self, Metrics};
use crate::output::{self, Output};
use crate::record::Observers;
use crate::world::World;
use crate::{component, listener};
use patience::Patience;
use reload::Source;
pub(crate) use stop::{Stop, Stopping};

/// What all connections share.
pub(crate) struct Host {
    limits: Limits,
    cores: Cores,
    certificate: ArcSwap<ServerConfig>,
    instances: ArcSwap<Instances>,
    told: Told,
    addresses: Addresses,
    places: Arc<Semaphore>,
    patience: Patience,
    stop: Stop,
}

/// Where the host can be reached, as it was bound.
pub(crate) struct Addresses {
    clients: Vec<SocketAddr>,
    scraper: Option<SocketAddr>,
}

impl Host {
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn cores(&self) -> &Cores {
        &self.cores
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
        &self.told.observers
    }

    fn addresses(&self) -> &Addresses {
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
    let told = Told::open(&arguments.reports);
    let ended = find_component(&arguments).and_then(|found| {
        let count = threads(found.1.world(), &arguments.limits);
        let ended = cores::run(count, |cores| serve(arguments, found, told.clone(), cores));
        ended.map_err(|error| error.to_string())?
    });
    if let Err(error) = &ended {
        journal::say(Level::Error, error);
    }
    told.flush();
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn find_component(arguments: &ServeArguments) -> Result<(PathBuf, Engine), String> {
    let file = arguments.component.clone().map_or_else(component::find, Ok);
    let file = file.map_err(|error| error.to_string())?;
    let engine = component::load(&file, &arguments.limits).map_err(|error| error.to_string())?;
    Ok((file, engine))
}

/// One per core; of the 0.3 world one per instance at most: a shared instance works on one core at a time.
fn threads(world: World, limits: &Limits) -> NonZeroUsize {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let instances = usize::try_from(limits.instances).ok().and_then(NonZeroUsize::new);
    match (world, instances) {
        (World::Service, Some(instances)) => instances.min(cores),
        _ => cores,
    }
}

/// Where the host tells of its work.
#[derive(Clone)]
struct Told {
    out: Arc<Output>,
    observers: Arc<Observers>,
}

impl Told {
    fn open(reports: &Reports) -> Self {
        let metrics = reports.metrics.map(|_| Arc::new(Metrics::new()));
        journal::open(reports.log, metrics.clone());
        let out = Arc::new(Output::open(std::io::stdout(), |lost| {
            let what = "lines lost";
            journal::say(
                Level::Warn,
                &format_args!("standard output took the access log too slowly: {lost} {what}"),
            );
            String::new()
        }));
        let access_log = reports.access_log.then(|| (reports.log, Arc::clone(&out)));
        Self { observers: Arc::new(Observers::new(access_log, metrics)), out }
    }

    /// Waits for the last lines, but not for a reader who does not read.
    fn flush(&self) {
        let until = output::last_lines();
        self.out.flush(until);
        journal::flush(until);
    }
}

async fn serve(
    arguments: ServeArguments,
    found: (PathBuf, Engine),
    told: Told,
    cores: Cores,
) -> Result<(), String> {
    let mut signals = signals::Signals::listen().map_err(|error| error.to_string())?;
    let demo = Demo::of(&arguments).await?;
    let listeners = listener::bind_all(&arguments.listen)
        .map_err(|(address, error)| format!("--listen {address}: {error}"))?;
    let clients = listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>();
    let clients = clients.map_err(|error| error.to_string())?;
    let scraper = serve_metrics(&arguments.reports, &told.observers).await?;
    let addresses = Addresses { clients, scraper };
    let limits = arguments.limits;
    let mut source = Source::new(arguments, demo, found, told.observers.metrics().cloned(), cores.clone());
    let loaded = source.load()?;
    loaded.instances.warm().await?;
    source.say("serving", &addresses, &loaded.settings);
    let places = usize::try_from(limits.max_connections.get()).unwrap_or(Semaphore::MAX_PERMITS);
    let host = Arc::new(Host {
        limits,
        cores,
        certificate: ArcSwap::new(loaded.certificate),
        instances: ArcSwap::new(loaded.instances),
        told,
        addresses,
        places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
        patience: Patience::new(&loaded.settings),
        stop: Stop::new(),
    });
    // Before the first request, which may have a line of its own.
    host.told.out.write(announcement(&host.addresses, source.demo()).as_bytes());
    for listener in listeners {
        tokio::spawn(listener::accept(Arc::clone(&host), listener));
    }
    signals.obey(&host, source).await;
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
fn announcement(Addresses { clients, scraper }: &Addresses, demo: Option<&Demo>) -> String {
    let mut text: String = clients.iter().map(|address| format!("listening on http://{address}\n")).collect();
    if let Some(address) = scraper {
        text += &format!("metrics on http://{address}/metrics\n");
    }
    if let (Some(demo), Some(first)) = (demo, clients.first()) {
        text += &demo.invitation(*first);
    }
    text
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
