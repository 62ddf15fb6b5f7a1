//! A module in its host, one process per case, over real TLS sockets: a component in the native host, or
//! the filter in Envoy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;

use super::envoy::{self, envoy_binary};
use super::host::{Host, Launch, READY};
use super::world::{World, host_binary};
use super::{Driver, sockets};
use crate::case::{Case, Protocol};
use crate::check::{Difference, differences};
use crate::client::{BALANCER, Target};
use crate::evidence::Evidence;
use crate::origin::{CertificateAuthority, Network, Resolve};

/// The drivers `component`, `service` and `envoy`.
pub struct Component {
    world: World,
    authority: CertificateAuthority,
    folder: PathBuf,
    binary: PathBuf,
    component: PathBuf,
    target: Target,
    more: Vec<String>,
}

/// Each driver of a process has a folder of its own.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// No case takes longer, with all its repetitions.
const CASE: Duration = Duration::from_secs(240);

/// A random start out of two misses so often once in a thousand million runs.
const STARTS: usize = 30;

/// How the component marks the lines of the policy's log on the host's standard error.
const LOG: &[&str] = &["messageweave-lb: ERROR ", "messageweave-lb: WARN ", "messageweave-lb: INFO "];

impl Component {
    /// A driver for the component of a world, whose temporary files go to `folder`.
    ///
    /// # Errors
    /// When host or component are not built, or the folder cannot be written.
    pub fn new(world: World, folder: &Path) -> Result<Self, String> {
        let authority = CertificateAuthority::new()?;
        let (certificate, key) = authority.issue_pem(BALANCER)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = folder.join(format!("component-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (name, text) in [("ca", authority.pem()), ("cert", certificate), ("key", key)] {
            let file = folder.join(format!("{name}.pem"));
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let (binary, component) = (host_binary(), world.file());
        let host = if world == World::Envoy { envoy_binary() } else { binary.clone() };
        for file in [&binary, &component, &host] {
            if !file.is_file() {
                return Err(format!("{} is missing: run `make build` first", file.display()));
            }
        }
        let target = Target {
            address: ([127, 0, 0, 1], 0).into(),
            http1: authority.client(Protocol::Http1)?,
            http2: authority.client(Protocol::Http2)?,
        };
        Ok(Self { world, authority, folder, binary, component, target, more: Vec::new() })
    }

    /// Starts the host with these arguments besides.
    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.more.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// How the host is started for a case whose origins run.
    #[must_use]
    pub fn launch(&self, case: &Case, network: &Network) -> Launch {
        self.launch_with(case.env.clone(), &network.resolves)
    }

    /// How the host is started with these variables, where these names lead there.
    #[must_use]
    pub fn launch_with(&self, mut environment: BTreeMap<String, String>, resolves: &[Resolve]) -> Launch {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let (command, module) = self.world.command();
        let mut arguments: Vec<String> = [command, "--listen", "127.0.0.1:0"].map(str::to_owned).into();
        for (flag, value) in [
            (module, self.component.display().to_string()),
            ("--ca", file("ca.pem")),
            ("--cert", file("cert.pem")),
            ("--key", file("key.pem")),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        for resolve in resolves {
            let rule = format!("{}:{}={}", resolve.host, resolve.port, resolve.address);
            arguments.extend(["--resolve".to_owned(), rule]);
        }
        arguments.extend_from_slice(&self.more);
        let binary = self.binary.clone();
        if self.world == World::Envoy {
            envoy::adapt(&mut arguments, &mut environment);
        }
        Launch { binary, arguments, environment, ready: READY }
    }

    /// The authority of the run.
    #[must_use]
    pub fn authority(&self) -> &CertificateAuthority {
        &self.authority
    }

    /// The client's view of a host.
    #[must_use]
    pub fn target(&self, host: &Host) -> Target {
        Target { address: host.address, ..self.target.clone() }
    }

    /// Runs a case until the random start was the right one.
    async fn run_until_started(&self, case: &Case) -> Vec<Difference> {
        let mut found = Vec::new();
        for _ in 0..STARTS {
            match self.run_once(case).await {
                Ok(Run::Done(differences)) => return differences,
                Ok(Run::Unknown(differences)) if differences.is_empty() => return differences,
                Ok(Run::Unknown(differences)) => found = differences,
                Ok(Run::OtherStart) => found = vec![Difference::of_the_run("first: was never the start")],
                Err(fault) => return vec![Difference::of_the_run(fault)],
            }
        }
        found
    }

    async fn run_once(&self, case: &Case) -> Result<Run, String> {
        let network = Network::start(case, &self.authority).await?;
        let host = Host::start(&self.launch(case, &network)).await?;
        let mut evidence = Evidence::default();
        let visible = case.first.as_ref().filter(|first| {
            case.origin.iter().any(|origin| origin.url == **first && origin.connect.is_none())
        });
        {
            let target = self.target(&host);
            let playing = sockets::play(case, &target, &network, &mut evidence);
            let astray = network.recorder.wait(CASE, |recorder| {
                recorder.first_contact().is_some_and(|url| visible.is_some_and(|first| *first != url))
            });
            tokio::select! {
                biased;
                true = astray => return Ok(Run::OtherStart),
                () = playing => {}
            }
        }
        match host.stop().await {
            Ok(printed) => sort_out(&printed, self.world, &mut evidence),
            Err(fault) => evidence.crashes.push(fault),
        }
        sockets::end(network, &mut evidence).await;
        let differences = differences(case, &evidence);
        let unknown = case.first.is_some() && visible.is_none();
        Ok(if unknown { Run::Unknown(differences) } else { Run::Done(differences) })
    }
}

/// One run of a case.
enum Run {
    Done(Vec<Difference>),
    /// Another origin was the random start.
    OtherStart,
    /// The start cannot be seen but in the differences.
    Unknown(Vec<Difference>),
}

impl Driver for Component {
    fn name(&self) -> &'static str {
        self.world.driver()
    }

    fn differences(&self, case: &Case) -> Vec<Difference> {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return vec![Difference::of_the_run(error.to_string())],
        };
        let bounded = async { timeout(CASE, self.run_until_started(case)).await };
        let overrun = |_| vec![Difference::of_the_run("the case overran the driver's bound")];
        runtime.block_on(bounded).unwrap_or_else(overrun)
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Tells the policy's log from everything else that the host prints.
fn sort_out(printed: &[String], world: World, evidence: &mut Evidence) {
    for line in printed {
        let logged = match world {
            World::Proxy | World::Service => LOG.iter().find_map(|mark| line.strip_prefix(mark)),
            World::Envoy => envoy::logged(line),
        };
        match logged {
            Some(line) => evidence.log.push(line.to_owned()),
            None => {
                evidence.noise.push_str(line);
                evidence.noise.push('\n');
            }
        }
    }
    if world == World::Envoy {
        envoy::order_last_try(&mut evidence.log);
    }
}
