//! `envoy`: this process becomes Envoy, so that signals and the exit code are Envoy's own. A helper
//! process waits until Envoy answers, says so, and removes what was rendered once Envoy has ended.

use std::fs::{DirBuilder, write};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use messageweave_lb::policy::settings::VARIABLES;
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::json;

use super::{FILTER, Rendering, listeners};
use crate::arguments::EnvoyRunArguments;
use crate::{check, output};

/// The hidden command of the helper.
pub(crate) const WATCH: &str = "envoy-watch";
const BOOTSTRAP: &str = "envoy.json";
const ADMIN: &str = "admin.sock";

/// Renders the configuration and becomes Envoy.
pub(crate) fn run(arguments: &EnvoyRunArguments) -> ExitCode {
    let error = match prepare(arguments) {
        Ok(mut envoy) => {
            let error = envoy.exec();
            format!("{}: {error}", envoy.get_program().display())
        }
        Err(error) => error,
    };
    output::complain(&format!("messageweave-lb: {error}\n"))
}

fn prepare(arguments: &EnvoyRunArguments) -> Result<Command, String> {
    let mut rendering = Rendering::new(&arguments.config)?;
    let folder = folder().map_err(|error| format!("a folder for the configuration: {error}"))?;
    if arguments.config.filter.is_none() {
        rendering.filter =
            near(FILTER).ok_or_else(|| format!("no {FILTER}: give --filter FILE or run `make build`"))?;
    }
    if rendering.certificate.is_none() {
        rendering.certificate = Some(certificate(&folder)?);
    }
    let admin = match arguments.admin {
        Some(address) => address.to_string(),
        None => folder.join(ADMIN).display().to_string(),
    };
    rendering.admin = Some(match arguments.admin {
        Some(address) => listeners::socket_address(address),
        None => json!({ "pipe": { "path": admin } }),
    });
    output::remark(&check::report_of(&rendering.variables));
    let bootstrap = folder.join(BOOTSTRAP);
    write(&bootstrap, rendering.bootstrap().to_string())
        .map_err(|error| format!("{}: {error}", bootstrap.display()))?;
    watch(&folder, &admin).map_err(|error| format!("the helper process: {error}"))?;
    let mut envoy = Command::new(program());
    envoy.arg("--config-path").arg(bootstrap).arg("--disable-hot-restart");
    envoy.args(["--log-level", "warning"]).args(&arguments.more);
    VARIABLES.iter().for_each(|name| {
        envoy.env_remove(name);
    });
    Ok(envoy)
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

/// A new folder that is this user's alone: it holds a key and the variables.
fn folder() -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("messageweave-lb-envoy-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
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
    let mut helper = helper.spawn()?;
    if let Some(alive) = helper.stdin.take() {
        // Kept open across the exec, and closed by nobody.
        fcntl_setfd(&alive, FdFlags::empty())?;
        std::mem::forget(alive);
    }
    Ok(())
}
