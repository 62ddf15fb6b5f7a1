//! Everything that SIGHUP reads again: the certificate and key, the trusted certificates, and the
//! variables (whose only source that can change is `--env-file`). Requests in flight finish on
//! what they started with. Instances stay, with their health cache and their counts, unless what they
//! were made from has changed: a new certificate for clients forgets nobody's limit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use messageweave_lb::policy::settings::Settings;
use rustls::ServerConfig;
use rustls_pki_types::TrustAnchor;
use tokio::runtime::Handle;

use super::{Addresses, Host, start_line};
use crate::arguments::ServeArguments;
use crate::check;
use crate::cores::Cores;
use crate::demo::Demo;
use crate::environment::Variables;
use crate::instance::{Engine, Instances};
use crate::journal::{self, Level};
use crate::metrics::Metrics;
use crate::tls::{Identity, TlsError};
use crate::upstream::{Route, Upstream, anchors, trust};

/// A client that offers HTTP/1.0 alone would else be refused in the handshake (RFC 7301 section 3.2).
const ALPN: [&[u8]; 3] = [b"h2", b"http/1.1", b"http/1.0"];

/// Where the configuration comes from.
pub(super) struct Source {
    arguments: ServeArguments,
    demo: Option<Demo>,
    file: PathBuf,
    engine: Engine,
    cores: Cores,
    metrics: Option<Arc<Metrics>>,
    in_force: Option<(Configuration, Arc<Instances>)>,
}

/// What instances are made from, besides the component.
#[derive(PartialEq, Eq)]
struct Configuration {
    variables: Variables,
    trusted: Vec<TrustAnchor<'static>>,
}

/// One reading of it.
pub(super) struct Loaded {
    pub(super) certificate: Arc<ServerConfig>,
    /// The same as before, if nothing that concerns them has changed.
    pub(super) instances: Arc<Instances>,
    pub(super) settings: Settings,
}

impl Source {
    pub(super) fn new(
        arguments: ServeArguments,
        demo: Option<Demo>,
        (file, engine): (PathBuf, Engine),
        metrics: Option<Arc<Metrics>>,
        cores: Cores,
    ) -> Self {
        Self { arguments, demo, file, engine, cores, metrics, in_force: None }
    }

    fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_deref()
    }

    pub(super) fn demo(&self) -> Option<&Demo> {
        self.demo.as_ref()
    }

    /// Reads all of it and prints what `check` would. A bad configuration is served as such; only
    /// files that cannot be read are an error.
    pub(super) fn load(&mut self) -> Result<Loaded, String> {
        let certificate = self.certificate().map_err(|error| error.to_string())?;
        let further: Vec<_> = self.demo.iter().map(|demo| demo.certificate().clone()).collect();
        let trusted = anchors(&self.arguments.ca, &further).map_err(|error| error.to_string())?;
        let mut variables =
            Variables::load(&self.arguments.environment).map_err(|error| error.to_string())?;
        if let Some(demo) = &self.demo {
            demo.configure(&mut variables, &self.arguments.environment)?;
        }
        let settings = check::settings(&variables);
        start_line::report(&settings);
        if let Some(metrics) = self.metrics() {
            metrics.configure(&settings);
        }
        self.tell_of_stray_routes(&settings);
        let instances = self.instances(Configuration { variables, trusted })?;
        Ok(Loaded { certificate, instances, settings })
    }

    /// Those in force, or new ones for a configuration that differs from theirs.
    fn instances(&mut self, configuration: Configuration) -> Result<Arc<Instances>, String> {
        if let Some((in_force, instances)) = &self.in_force
            && *in_force == configuration
        {
            return Ok(Arc::clone(instances));
        }
        let trusted = trust(configuration.trusted.clone()).map_err(|error| error.to_string())?;
        let upstream = Upstream::new(trusted, &self.arguments.resolve, self.cores.count());
        let instances =
            Instances::new(self.engine.clone(), configuration.variables.clone(), upstream, &self.cores);
        let (_, instances) = self.in_force.insert((configuration, Arc::new(instances)));
        Ok(Arc::clone(instances))
    }

    /// A `--resolve` for another name may be meant for a redirect, or be misspelt.
    fn tell_of_stray_routes(&self, settings: &Settings) {
        let origins = settings.origins();
        let stray = self.arguments.resolve.iter().map(Route::authority);
        let stray = stray.filter(|authority| origins.iter().all(|origin| origin.authority() != authority));
        for authority in stray.filter(|_| !origins.is_empty()) {
            let message =
                format_args!("--resolve {authority}: no origin of the list; only redirects lead there");
            journal::say(Level::Warn, &message);
        }
    }

    /// Reloads for each message, on a thread of its own: files may be slow, and so is the end of many instances.
    pub(super) fn reload_when_told(mut self, host: &Arc<Host>) -> SyncSender<()> {
        let (sender, told) = sync_channel(1);
        let (host, runtime) = (Arc::clone(host), Handle::current());
        thread::spawn(move || {
            let _entered = runtime.enter();
            while told.recv().is_ok() {
                self.reload(&host);
            }
        });
        sender
    }

    /// Puts a new reading in place, or keeps the old one and says why.
    fn reload(&mut self, host: &Host) {
        match self.load() {
            Ok(loaded) => {
                host.certificate.store(loaded.certificate);
                let before = host.instances();
                if !Arc::ptr_eq(&before, &loaded.instances) {
                    // In this order: between the two, requests of the old configuration make instances
                    // of their own, and each has its permit.
                    before.retire();
                    host.instances.store(loaded.instances);
                    host.patience.reload(&loaded.settings);
                }
                self.say("reloaded", host.addresses(), &loaded.settings);
            }
            Err(error) => journal::say(Level::Error, &format_args!("not reloaded: {error}")),
        }
    }

    /// The line with what is in force from now on.
    pub(super) fn say(&self, what: &str, addresses: &Addresses, settings: &Settings) {
        let members = start_line::members(&self.arguments, (&self.file, &self.engine), addresses, settings);
        journal::say_with(Level::Info, what, members);
    }

    fn certificate(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let identity = match (&self.arguments.cert, &self.arguments.key) {
            (Some(cert), Some(key)) => Identity::read(cert, key)?,
            _ => Identity::of_localhost()?,
        };
        identity.into_server(&ALPN)
    }
}
