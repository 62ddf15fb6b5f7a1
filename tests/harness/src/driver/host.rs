//! One process of the native host, with everything that it prints.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How to start the host.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The binary.
    pub binary: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment; besides, it gets only what it needs to find its cache.
    pub environment: BTreeMap<String, String>,
    /// The beginning of the line by which it says where it listens.
    pub ready: &'static str,
}

/// A running host. Dropping it kills the process.
pub struct Host {
    /// Where it listens.
    pub address: SocketAddr,
    child: Child,
    printed: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(10);

/// The line by which our host says that it is ready.
pub const READY: &str = "listening on http://";

impl Host {
    /// Starts the host and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started, ends at once, or is not ready within a minute.
    pub async fn start(launch: &Launch) -> Result<Self, String> {
        let mut command = Command::new(&launch.binary);
        command.args(&launch.arguments).env_clear().envs(&launch.environment);
        for name in ["HOME", "XDG_CACHE_HOME", "PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.kill_on_drop(true).spawn();
        let mut child = spawned.map_err(|error| format!("{}: {error}", launch.binary.display()))?;
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (ready, mut listening) = watch::channel(None);
        let mut readers = Vec::new();
        if let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) {
            readers.push(tokio::spawn(read(stdout, launch.ready, printed.clone(), ready.clone())));
            readers.push(tokio::spawn(read(stderr, launch.ready, printed.clone(), ready)));
        }
        let address = timeout(START, listening.wait_for(Option::is_some)).await;
        let address = address.ok().and_then(|found| found.ok().and_then(|address| *address));
        match address {
            Some(address) => Ok(Self { address, child, printed, readers }),
            None => Err(format!("the host did not start: {}", lines(&printed).join("\n"))),
        }
    }

    /// The process.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has printed so far.
    #[must_use]
    pub fn printed(&self) -> Vec<String> {
        lines(&self.printed)
    }

    /// Ends the host as its operator would; everything that it printed.
    ///
    /// # Errors
    /// When it had ended before, or does not end.
    pub async fn stop(mut self) -> Result<Vec<String>, String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("the host ended by itself: {status}: {:?}", lines(&self.printed)));
        }
        let ended = self.terminate().await;
        for reader in &mut self.readers {
            let _ = timeout(STOP, reader).await;
        }
        ended.map(|()| lines(&self.printed))
    }

    async fn terminate(&mut self) -> Result<(), String> {
        let id = self.child.id().ok_or("the host has no process")?;
        let kill = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
        kill.map_err(|error| error.to_string())?;
        match timeout(STOP, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(status) => Err(format!("the host ended with {status:?}: {:?}", lines(&self.printed))),
            Err(_) => {
                let _ = self.child.kill().await;
                Err("the host did not end on SIGTERM".to_owned())
            }
        }
    }
}

fn lines(printed: &Mutex<Vec<String>>) -> Vec<String> {
    printed.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn read(
    pipe: impl AsyncRead + Unpin,
    mark: &'static str,
    printed: Arc<Mutex<Vec<String>>>,
    ready: watch::Sender<Option<SocketAddr>>,
) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(pipe.read_until(b'\n', &mut line).await, Ok(count) if count > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let address = text.strip_prefix(mark).map(|address| address.trim_end_matches('/'));
        if let Some(address) = address.and_then(|address| address.parse().ok()) {
            ready.send_replace(Some(address));
        }
        printed.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        line.clear();
    }
}
