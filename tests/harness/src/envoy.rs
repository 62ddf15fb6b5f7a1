//! Envoy with a rendered configuration that a test has changed: other listeners, no filter, an
//! upstream of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::{envoy_binary, filter, host_binary};

/// Envoy is ready within this.
const START: Duration = Duration::from_secs(60);
/// It has taken a configuration within this.
const TAKEN: Duration = Duration::from_secs(20);
/// What can come from a file: the list of a bootstrap, who watches the file, the type of what is in it.
const WATCHED: [(&str, &str, &str); 2] = [
    ("clusters", "cds_config", "type.googleapis.com/envoy.config.cluster.v3.Cluster"),
    ("listeners", "lds_config", "type.googleapis.com/envoy.config.listener.v3.Listener"),
];

/// A running Envoy; dropping it ends it.
pub struct Envoy {
    child: Child,
    /// The folder with its files.
    pub folder: PathBuf,
}

/// What `messageweave-lb envoy-config` prints for these flags and variables.
///
/// # Errors
/// When it prints none.
pub fn render(flags: &[&str], variables: &[(&str, &str)]) -> Result<Value, String> {
    let mut command = Command::new(host_binary());
    command.env_clear().arg("envoy-config").args(flags);
    if !flags.contains(&"--filter") {
        command.arg("--filter").arg(filter());
    }
    for (name, value) in variables {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    yaml_serde::from_str(&text).map_err(|error| error.to_string())
}

impl Envoy {
    /// Runs it; its log goes to `log` in `folder`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(folder: &Path, bootstrap: &Value, flags: &[&str]) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut bootstrap = bootstrap.clone();
        let admin = folder.join("admin.sock");
        if let Value::Object(fields) = &mut bootstrap {
            fields.insert("admin".to_owned(), json!({ "address": { "pipe": { "path": admin } } }));
        }
        let file = folder.join("envoy.json");
        std::fs::write(&file, bootstrap.to_string()).map_err(|error| error.to_string())?;
        let log = std::fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
        let mut command = Command::new(envoy_binary());
        command.env_clear().arg("--config-path").arg(&file).arg("--disable-hot-restart");
        command.args(["--log-level", "warning"]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(|error| error.to_string())?;
        let mut envoy = Self { child, folder: folder.to_owned() };
        envoy.wait()?;
        Ok(envoy)
    }

    /// Runs it with listeners and clusters that [`push`](Self::push) can replace.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn watching(folder: &Path, bootstrap: &Value, flags: &[&str]) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut watching = bootstrap.clone();
        let Value::Object(fields) = &mut watching else { return Err("no bootstrap".to_owned()) };
        fields.insert("node".to_owned(), json!({ "id": "test", "cluster": "test" }));
        fields.remove("static_resources");
        let source = |(list, config, _): (&str, &str, _)| {
            let path = folder.join(list);
            (
                config.to_owned(),
                json!({ "path_config_source": { "path": path }, "resource_api_version": "V3" }),
            )
        };
        let sources: serde_json::Map<_, _> = WATCHED.into_iter().map(source).collect();
        fields.insert("dynamic_resources".to_owned(), sources.into());
        write(folder, bootstrap)?;
        Self::start(folder, &watching, flags)
    }

    /// Replaces its listener and its clusters by those of a bootstrap, and waits until its workers have the new
    /// listener, which must be another one.
    ///
    /// # Errors
    /// When it does not take them.
    pub fn push(&self, bootstrap: &Value) -> Result<(), String> {
        const CREATED: &str = "listener_manager.listener_create_success";
        let workers = self.sum("server.concurrency");
        let wanted = self.sum(CREATED) + workers;
        write(&self.folder, bootstrap)?;
        let until = Instant::now() + TAKEN;
        while Instant::now() < until {
            if self.sum(CREATED) >= wanted && self.sum("warming") == 0 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("a configuration was not taken: {}", self.log()))
    }

    /// The sum of the counters whose name contains a text.
    #[must_use]
    pub fn sum(&self, filter: &str) -> u64 {
        self.stats(filter).values().sum()
    }

    fn wait(&mut self) -> Result<(), String> {
        let until = Instant::now() + START;
        while Instant::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("Envoy ended: {status}: {}", self.log()));
            }
            if self.ask("GET /ready").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("Envoy did not start: {}", self.log()))
    }

    /// What the admin interface says to a request line.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, line: &str) -> Result<String, String> {
        use std::io::{Read, Write};
        let path = self.folder.join("admin.sock");
        let mut stream = std::os::unix::net::UnixStream::connect(path).map_err(|e| e.to_string())?;
        let request =
            format!("{line} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
        Ok(answer)
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Processor time so far, in clock ticks.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.stat().unwrap_or_default()
    }

    fn stat(&self) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(user + system)
    }

    /// Resident memory, in KiB.
    #[must_use]
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
    }

    /// The counters of `/stats` whose name contains a text.
    #[must_use]
    pub fn stats(&self, filter: &str) -> BTreeMap<String, u64> {
        let answer = self.ask(&format!("GET /stats?filter={filter}")).unwrap_or_default();
        let lines = answer.lines().filter_map(|line| line.split_once(": "));
        lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the lists of a bootstrap, each into its file: Envoy watches for one that is moved into place.
fn write(folder: &Path, bootstrap: &Value) -> Result<(), String> {
    for (list, _, kind) in WATCHED {
        let mut resources = bootstrap.pointer(&format!("/static_resources/{list}")).cloned();
        for resource in resources.iter_mut().filter_map(Value::as_array_mut).flatten() {
            if let Value::Object(fields) = resource {
                fields.insert("@type".to_owned(), json!(kind));
            }
        }
        let partial = folder.join("part");
        let written = std::fs::write(&partial, json!({ "resources": resources }).to_string());
        written
            .and_then(|()| std::fs::rename(partial, folder.join(list)))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A port that was free a moment ago.
///
/// # Errors
/// When there is none.
pub fn free() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Origins without TLS, where TLS is not the point.
pub fn without_tls(bootstrap: &mut Value) {
    each(bootstrap, &mut |object| {
        if object.contains_key("load_assignment") {
            object.remove("transport_socket");
        }
        // Without TLS there is no ALPN to choose by.
        if object.remove("auto_config").is_some() {
            object.insert("explicit_http_config".to_owned(), json!({ "http_protocol_options": {} }));
        }
    });
}

/// The same routes and clusters without our filters, their log, and the marks that Envoy leaves for them on answers.
pub fn without_filter(bootstrap: &mut Value) {
    each(bootstrap, &mut |object| {
        object.remove("upstream_log");
        if let Some(Value::Array(mutations)) = object.get_mut("response_mutations") {
            let names = ["x-lb-hop", "x-lb-location", "x-lb-asked"];
            mutations.retain(|mutation| !names.iter().any(|name| mutation.to_string().contains(name)));
        }
        if let Some(Value::Array(filters)) = object.get_mut("http_filters") {
            filters.retain(|filter| filter.pointer("/typed_config/extension_config").is_none());
        }
    });
}

/// Applies a change to every object of a configuration.
pub fn each(value: &mut Value, change: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|value| each(value, change));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each(value, change)),
        _ => {}
    }
}

/// An Envoy that answers as an origin: `/ready` briefly, `/` with 64 KiB, anything else by 404.
#[must_use]
pub fn origin(address: SocketAddr) -> Value {
    let answer = |path: &str, body: String| {
        json!({
            "match": { "path": path },
            "direct_response": { "status": 200, "body": { "inline_string": body } },
        })
    };
    json!({ "static_resources": { "listeners": [{
        "name": "origin",
        "address": { "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } },
        "filter_chains": [{ "filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": "origin",
                "route_config": {
                    "max_direct_response_body_size_bytes": 100_000,
                    "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [
                        answer("/ready", "ok".to_owned()),
                        answer("/", "x".repeat(65_536)),
                    ] }],
                },
                "http_filters": [{
                    "name": "envoy.filters.http.router",
                    "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
                }],
            },
        }] }],
    }] } })
}
