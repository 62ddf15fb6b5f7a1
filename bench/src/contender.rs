//! Those who are compared: each is a command that serves plain http on a port and balances over the two
//! origins of [`Origins`](crate::origins::Origins) by the same rules.

mod envoy;
mod nginx;
mod ours;
mod workerd;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use messageweave_lb_harness::envoy::free;
use messageweave_lb_harness::load::once;

use crate::Fallible;
use crate::origins::Origins;
use crate::process::Process;
use crate::work::Work;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The 0.2 component in our host.
    Component,
    /// The 0.3 component in our host, with an instance per core.
    Service,
    /// The same with one instance, and so one thread: the default, whose state is the process's.
    Alone,
    /// The filter in Envoy.
    Filter,
    /// The same Envoy, with the same routes and no WebAssembly.
    Envoy,
    /// nginx: the limit of what the machine can do.
    Nginx,
    /// The same policy as a Worker in workerd: what the first users run today.
    Workerd,
}

/// It answers within this, or does not start at all.
const START: Duration = Duration::from_secs(60);

impl Contender {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 7] =
        [Self::Component, Self::Service, Self::Alone, Self::Filter, Self::Envoy, Self::Nginx, Self::Workerd];

    /// The name in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Component => "our host, 0.2",
            Self::Service => "our host, 0.3",
            Self::Alone => "our host, 0.3, one instance",
            Self::Filter => "Envoy, our filter",
            Self::Envoy => "Envoy, no wasm",
            Self::Nginx => "nginx",
            Self::Workerd => "workerd",
        }
    }

    /// The files that it needs and that are not there; none of its rows can be measured then.
    #[must_use]
    pub fn missing(self) -> Vec<PathBuf> {
        let needed = match self {
            Self::Component | Self::Service | Self::Alone => ours::files(self),
            Self::Filter | Self::Envoy => envoy::files(),
            Self::Nginx => vec![nginx::binary()],
            Self::Workerd => vec![workerd::binary()],
        };
        needed.into_iter().filter(|file| !file.is_file()).collect()
    }

    /// Starts it and waits for its first forwarded answer.
    ///
    /// # Errors
    /// When it cannot be started, or gives a wrong answer or none.
    pub fn start(self, origins: &Origins, folder: &Path) -> Fallible<Running> {
        let folder = folder.join(format!("{self:?}"));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let address = free().map_err(|error| error.to_string())?;
        let site = Site { origins, folder: &folder, address };
        let command = match self {
            Self::Component | Self::Service | Self::Alone => ours::command(self, &site),
            Self::Filter => envoy::command(&site, true)?,
            Self::Envoy => envoy::command(&site, false)?,
            Self::Nginx => nginx::command(&site)?,
            Self::Workerd => workerd::command(&site)?,
        };
        Running::start(self, command, address, folder.join("log"))
    }
}

/// Where a contender is set up.
struct Site<'a> {
    origins: &'a Origins,
    /// For its files.
    folder: &'a Path,
    /// Where it has to listen.
    address: SocketAddr,
}

impl Site<'_> {
    fn write(&self, name: &str, text: &str) -> Fallible<PathBuf> {
        let file = self.folder.join(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    /// `--resolve` for both origins, where a name would else be looked up.
    fn resolves(&self) -> Vec<String> {
        let rules = self.origins.addresses.iter();
        rules.map(|address| format!("--resolve=localhost:{}={address}", address.port())).collect()
    }
}

/// A contender that serves. Dropping it ends it.
pub struct Running {
    /// Which.
    pub contender: Contender,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its processes.
    pub process: Process,
    /// From the start of the process to its first forwarded answer.
    pub start: Duration,
    log: PathBuf,
}

impl Running {
    fn start(contender: Contender, command: Command, address: SocketAddr, log: PathBuf) -> Fallible<Self> {
        let ask = Work::Small.ask();
        let begun = Instant::now();
        let mut process = Process::start(command, &log)?;
        loop {
            match once(address, &ask) {
                Ok(()) => break,
                Err(_) if begun.elapsed() < START && !process.has_ended() => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(fault) => {
                    let log = std::fs::read_to_string(&log).unwrap_or_default();
                    return Err(format!("{}: no first answer: {fault}\n{log}", contender.name()));
                }
            }
        }
        Ok(Self { contender, address, process, start: begun.elapsed(), log })
    }

    /// The end of what it has printed.
    #[must_use]
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(10).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

/// A program that the Makefile fetched, unless another is named.
fn tool(variable: &str, name: &str) -> PathBuf {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools").join(name);
    std::env::var_os(variable).map_or(fetched, PathBuf::from)
}
