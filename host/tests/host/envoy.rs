//! `envoy` with a program in Envoy's place: the folder with the key and the variables.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::process::{PATIENCE, until};

/// `messageweave-lb envoy` that becomes this shell script, with its folder in `temporary`.
fn start(temporary: &Path, script: &str) -> Child {
    let flags = ["--env", "BACKEND_ORIGINS_JSON=[\"https://a.example\"]"];
    command(temporary, &program(temporary, script), &flags).stdin(Stdio::null()).spawn().unwrap()
}

/// A shell script.
fn program(folder: &Path, script: &str) -> PathBuf {
    let program = folder.join("program");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    program
}

/// `messageweave-lb envoy` with its folder in `temporary` and this program in Envoy's place.
fn command(temporary: &Path, envoy: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_messageweave-lb"));
    command.arg("envoy").args(arguments).env_clear().env("TMPDIR", temporary).env("ENVOY", envoy);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn run(temporary: &Path, envoy: &Path, arguments: &[&str]) -> (ExitStatus, String) {
    ended(command(temporary, envoy, arguments).spawn().unwrap())
}

fn folders(temporary: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn ended(mut child: Child) -> (ExitStatus, String) {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let mut told = String::new();
            child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
            return (status, told);
        }
        assert!(start.elapsed() < PATIENCE, "still running");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// The helper of the process: it watches this folder.
fn helper(folder: &Path) -> Option<Pid> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let number = processes.filter_map(|name| name.parse().ok()).find(|number: &i32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.nth(1) == Some(b"envoy-watch") && words.next() == Some(folder.as_os_str().as_encoded_bytes())
    });
    Pid::from_raw(number?)
}

#[tokio::test]
async fn the_folder_is_private_and_new_and_goes_with_envoy_even_if_the_helper_is_told_to_stop() {
    let temporary = TempDir::new().unwrap();
    let mut names = Vec::new();
    for stop in [Signal::TERM, Signal::KILL] {
        let child = start(temporary.path(), "exec sleep 1000");
        until("the configuration", || {
            folders(temporary.path()).iter().any(|folder| folder.join("envoy.json").exists())
        })
        .await;
        let [folder] = folders(temporary.path()).try_into().unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let pid = Pid::from_child(&child);
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(!name.contains(&child.id().to_string()), "{name}");
        names.push(name);
        // Its command line is there a moment after it was started.
        until("the helper", || helper(&folder).is_some()).await;
        let helper = helper(&folder).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            kill_process(helper, signal).unwrap();
        }
        kill_process(pid, stop).unwrap();
        assert!(!ended(child).0.success());
        until("its end", || folders(temporary.path()).is_empty()).await;
    }
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn a_start_that_fails_leaves_no_folder_behind() {
    let temporary = TempDir::new().unwrap();
    let missing = Path::new("/no/such/program");
    let (status, told) = run(temporary.path(), missing, &["--env-file", "no.env"]);
    assert!(status.code() == Some(1) && told.contains("--env-file no.env"), "{told}");
    until("its end", || folders(temporary.path()).is_empty()).await;
    let (status, told) = run(temporary.path(), missing, &[]);
    assert!(status.code() == Some(1) && told.contains("/no/such/program"), "{told}");
    until("its end", || folders(temporary.path()).is_empty()).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_told_by_its_flag_and_a_path_too_long_by_its_bound() {
    let temporary = TempDir::new().unwrap();
    let long = temporary.path().join("x".repeat(100));
    fs::create_dir(&long).unwrap();
    let (flags, missing) = (["--filter", "--ca"], "/no/such/file");
    let given =
        flags.map(|flag| (temporary.path(), vec![flag, missing], format!("{flag} {missing}: No such")));
    let too_long = (long.as_path(), vec![], "more than 107 bytes: set TMPDIR".to_owned());
    let odd = temporary.path().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).unwrap();
    let odd = (odd.as_path(), vec![], "TMPDIR must be UTF-8".to_owned());
    for (folder, flags, expected) in given.into_iter().chain([too_long, odd]) {
        let (status, told) = run(folder, Path::new("/bin/true"), &flags);
        assert!(status.code() == Some(1) && told.contains(&expected), "{told}");
    }
}

#[tokio::test]
async fn a_log_level_of_the_users_own_replaces_ours() {
    for (given, levels) in [("--log-level", 1), ("--log-level=info", 1), ("-linfo", 0), ("--concurrency", 1)]
    {
        let temporary = TempDir::new().unwrap();
        let program = program(temporary.path(), "echo \"$@\" >&2");
        let (status, told) = run(temporary.path(), &program, &["--", given]);
        assert!(status.success() && told.matches("--log-level").count() == levels, "{told}");
    }
}

#[tokio::test]
async fn outputs_that_take_nothing_end_nothing() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let mut config = Command::new(env!("CARGO_BIN_EXE_messageweave-lb"));
    config.arg("envoy-config").env_clear().stdout(full()).stderr(Stdio::piped());
    let (status, told) = ended(config.spawn().unwrap());
    assert!(status.code() == Some(1) && told.contains("standard output: "), "{told}");
    let temporary = TempDir::new().unwrap();
    let mut envoy = command(temporary.path(), Path::new("/bin/true"), &[]);
    let status = envoy.stdout(full()).stderr(full()).status().unwrap();
    assert!(status.success(), "{status}");
    until("its end", || folders(temporary.path()).is_empty()).await;
}
