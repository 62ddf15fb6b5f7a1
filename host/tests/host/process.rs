//! The binary under test, started with given flags and killed at the end of its test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// What a test may take at the most, for things that have no time of their own.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A host that is listening.
pub(crate) struct Host {
    child: Child,
    pub(crate) address: SocketAddr,
    announced: Arc<Mutex<Vec<String>>>,
    stderr: Arc<Mutex<String>>,
    /// Goes with the host: its flags name files in it.
    folder: TempDir,
}

/// A host to be started; paths in flags may name files in its folder.
pub(crate) struct Setup {
    folder: TempDir,
    command: Command,
    component: PathBuf,
    stderr: Option<Stdio>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_messageweave-lb"));
        command.arg("serve").env_clear();
        // Shared by all tests, so that the component is compiled once.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        Self { folder: TempDir::new().unwrap(), command, component: shipped(), stderr: None }
    }

    pub(crate) fn flag(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(name).arg(value);
        self
    }

    pub(crate) fn switch(mut self, name: &str) -> Self {
        self.command.arg(name);
        self
    }

    pub(crate) fn process_env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn component(mut self, file: PathBuf) -> Self {
        self.component = file;
        self
    }

    /// In place of a reader that takes everything.
    pub(crate) fn stderr(mut self, taker: impl Into<Stdio>) -> Self {
        self.stderr = Some(taker.into());
        self
    }

    /// Starts and waits for the line that says where it listens.
    pub(crate) fn start(mut self) -> Host {
        self.command.arg("--component").arg(&self.component).args(["--listen", "127.0.0.1:0"]);
        let stderr = self.stderr.take().unwrap_or_else(Stdio::piped);
        let mut child = self.command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let stderr = child.stderr.take().map(collect).unwrap_or_default();
        let announced = Arc::new(Mutex::new(Vec::new()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(Ok(first)) = lines.next() else {
            child.wait().unwrap();
            panic!("the host did not start: {}", stderr.lock().unwrap());
        };
        let address = first.strip_prefix("listening on http://").unwrap().parse().unwrap();
        let kept = Arc::clone(&announced);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Host { child, address, announced, stderr, folder: self.folder }
    }

    /// Runs to the end, for a host that cannot start.
    pub(crate) fn fail(mut self) -> (ExitStatus, String) {
        self.command.arg("--component").arg(&self.component).args(["--listen", "127.0.0.1:0"]);
        let output = self.command.output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}

/// The component that `make build` puts in place.
fn shipped() -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/messageweave-lb.wasm");
    assert!(file.is_file(), "dist/messageweave-lb.wasm is not there: run `make build` first");
    file
}

fn collect(mut stderr: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut buffer) {
            kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    });
    text
}

impl Host {
    /// Standard output after the first line.
    pub(crate) fn announced(&self) -> String {
        self.announced.lock().unwrap().join("\n")
    }

    /// A file that its flags may name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Until standard error holds `text`, `times` times.
    pub(crate) async fn says(&self, text: &str, times: usize) {
        until(&format!("{text:?} on stderr"), || self.stderr().matches(text).count() >= times).await;
    }

    /// How it ended, once it has.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "still running: {}", self.stderr());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// A host of each build, for 0.2 and for 0.3, in this setup.
pub(crate) fn of_each_build(setup: impl Fn() -> Setup) -> impl Iterator<Item = Host> {
    ["messageweave-lb.wasm", "messageweave-lb-p3.wasm"].into_iter().map(move |name| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist").join(name);
        setup().component(file).start()
    })
}

/// Polls for something that another process does.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Ended already in tests of its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
