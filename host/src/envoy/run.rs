//! `envoy`: this process becomes Envoy, so that signals and the exit code are Envoy's own. A helper
//! process waits until Envoy answers, says so, and removes what was rendered once Envoy has ended.

use std::fs::{Permissions, write};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use messageweave_lb::policy::settings::VARIABLES;
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::json;
use tempfile::TempDir;

use super::{FILTER, Rendering, listeners};
use crate::arguments::EnvoyRunArguments;
use crate::{check, output};

/// The hidden command of the helper.
pub(crate) const WATCH: &str = "envoy-watch";
const BOOTSTRAP: &str = "envoy.json";
const ADMIN: &str = "admin.sock";
/// unix(7): 108 bytes with the NUL behind it.
const LONGEST_SOCKET: usize = 107;

/// Renders the configuration and becomes Envoy.
pub(crate) fn run(arguments: &EnvoyRunArguments) -> ExitCode {
    let error = become_envoy(arguments);
    output::complain(&format!("messageweave-lb: {error}\n"))
}

/// Comes back with an error alone. The folder then goes with this frame; else the helper removes it.
fn become_envoy(arguments: &EnvoyRunArguments) -> String {
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => return format!("a folder for the configuration: {error}"),
    };
    match prepare(arguments, folder.path()) {
        Ok(mut envoy) => {
            let error = envoy.exec();
            format!("{}: {error}", envoy.get_program().display())
        }
        Err(error) => error,
    }
}

fn prepare(arguments: &EnvoyRunArguments, folder: &Path) -> Result<Command, String> {
    let admin = match arguments.admin {
        Some(address) => address.to_string(),
        None => socket(folder)?,
    };
    // Before anything is in it: from now on it goes however this process ends.
    watch(folder, &admin).map_err(|error| format!("the helper process: {error}"))?;
    let mut rendering = Rendering::new(&arguments.config)?;
    if arguments.config.filter.is_none() {
        rendering.filter =
            near(FILTER).ok_or_else(|| format!("no {FILTER}: give --filter FILE or run `make build`"))?;
    }
    if rendering.certificate.is_none() {
        rendering.certificate = Some(certificate(folder)?);
    }
    rendering.admin = Some(match arguments.admin {
        Some(address) => listeners::socket_address(address),
        None => json!({ "pipe": { "path": admin } }),
    });
    readable(arguments, &rendering)?;
    output::remark(&check::report_of(&rendering.variables));
    let bootstrap = folder.join(BOOTSTRAP);
    write(&bootstrap, rendering.bootstrap().to_string())
        .map_err(|error| format!("{}: {error}", bootstrap.display()))?;
    let mut envoy = Command::new(program());
    envoy.arg("--config-path").arg(bootstrap).arg("--disable-hot-restart");
    if !arguments.more.iter().any(|flag| sets_log_level(flag)) {
        envoy.args(["--log-level", "warning"]);
    }
    envoy.args(&arguments.more);
    VARIABLES.iter().for_each(|name| {
        envoy.env_remove(name);
    });
    Ok(envoy)
}

/// Envoy takes it once.
fn sets_log_level(flag: &str) -> bool {
    flag == "--log-level" || flag.starts_with("--log-level=") || flag.starts_with("-l")
}

/// Envoy's own words about a file that it cannot read do not name the flag.
fn readable(arguments: &EnvoyRunArguments, rendering: &Rendering) -> Result<(), String> {
    let config = &arguments.config;
    let named = [("--cert", &config.cert), ("--key", &config.key), ("--ca", &config.ca)];
    let named = named.into_iter().filter_map(|(flag, file)| Some((flag, file.as_ref()?)));
    for (flag, file) in named.chain([("--filter", &rendering.filter)]) {
        // Opened alone: what a pipe gives is for Envoy.
        std::fs::File::open(file).map_err(|error| format!("{flag} {}: {error}", file.display()))?;
    }
    Ok(())
}

/// `$ENVOY`, then `envoy` on `PATH`, then the one that the Makefile fetched.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("ENVOY").filter(|named| !named.is_empty()) {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("envoy")).find(|file| file.is_file());
    on_path.or_else(|| near(".tools/envoy")).unwrap_or_else(|| PathBuf::from("envoy"))
}

/// A file of the project that the executable was built in, or of the working directory.
fn near(file: &str) -> Option<PathBuf> {
    let executable = std::env::current_exe().ok();
    let project = executable.iter().flat_map(|executable| executable.ancestors().skip(1).take(3));
    let tried = project.map(|folder| folder.join(file)).chain([PathBuf::from(file)]);
    tried.into_iter().find(|file| file.is_file())
}

/// A new folder that is this user's alone: it holds a key and the variables. Its name is nobody's to guess
/// or to take in advance.
fn folder() -> io::Result<TempDir> {
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("messageweave-lb-envoy-").permissions(private).tempdir()
}

/// Where Envoy's admin interface listens.
fn socket(folder: &Path) -> Result<String, String> {
    let socket = folder.join(ADMIN);
    match socket.to_str() {
        Some(path) if path.len() <= LONGEST_SOCKET => Ok(path.to_owned()),
        Some(path) => Err(format!(
            "{path}: no socket can have a path of more than {LONGEST_SOCKET} bytes: set TMPDIR to a shorter one, \
             or give --admin ADDR"
        )),
        None => Err(format!("{}: TMPDIR must be UTF-8, or give --admin ADDR", socket.display())),
    }
}

/// A certificate for this machine, when none is given.
fn certificate(folder: &Path) -> Result<(PathBuf, PathBuf), String> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    write(&certificate, made.cert.pem()).map_err(|error| error.to_string())?;
    write(&key, made.signing_key.serialize_pem()).map_err(|error| error.to_string())?;
    Ok((certificate, key))
}

/// Starts the helper. Its standard input ends when this process does, as whatever program.
fn watch(folder: &Path, admin: &str) -> io::Result<()> {
    let mut helper = Command::new(std::env::current_exe()?);
    helper.arg(WATCH).arg(folder).arg(admin).stdin(Stdio::piped());
    // What a terminal sends to its foreground is for Envoy; the helper outlives it.
    helper.process_group(0);
    let mut helper = helper.spawn()?;
    if let Some(alive) = helper.stdin.take() {
        // Kept open across the exec, and closed by nobody.
        fcntl_setfd(&alive, FdFlags::empty())?;
        std::mem::forget(alive);
    }
    Ok(())
}
