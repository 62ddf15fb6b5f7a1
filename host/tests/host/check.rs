//! `check`, and what `serve` refuses to start with.

use std::process::{Command, Output};

use crate::process::Setup;

fn check(flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_messageweave-lb"));
    command.arg("check").env_clear().args(flags).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_good_configuration_is_printed_with_exit_code_0() {
    let output = check(&["--env", r#"BACKEND_ORIGINS_JSON=["https://A.example:443"]"#]);
    assert_eq!(output.status.code(), Some(0));
    let report = text(&output.stdout);
    for part in ["  https://a.example\n", "/reconcile", "1 x 320000 ms", "LB_MAX_ATTEMPTS"] {
        assert!(report.contains(part), "{part:?} in {report}");
    }
}

#[test]
fn every_error_is_printed_with_exit_code_1_and_no_secret() {
    let output = check(&[
        "--env",
        r#"BACKEND_ORIGINS_JSON=["https://user:s3cret@a.example",{}]"#,
        "--env",
        "LB_MAX_ATTEMPTS=s3cret",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stderr);
    for key in ["BACKEND_ORIGINS_JSON[0]: ", "BACKEND_ORIGINS_JSON[1]: ", "LB_MAX_ATTEMPTS: "] {
        assert!(report.contains(key), "{key:?} in {report}");
    }
    assert!(!report.contains("s3cret") && output.stdout.is_empty(), "{report}");
}

#[test]
fn an_unknown_variable_is_refused_by_name_without_its_value() {
    let output = check(&["--env", "LB_TIMEOUT=s3cret"]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stderr);
    assert!(report.contains("unknown variable `LB_TIMEOUT`") && !report.contains("s3cret"), "{report}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    for (flags, named) in [
        (vec!["--cert", "no.pem", "--key", "no.key"], "--cert no.pem"),
        (vec!["--ca", "no-ca.pem"], "--ca no-ca.pem"),
        (vec!["--env-file", "no.env"], "--env-file no.env"),
    ] {
        let setup = flags.chunks(2).fold(Setup::new(), |setup, pair| setup.flag(pair[0], pair[1]));
        let (status, stderr) = setup.fail();
        assert!(!status.success() && stderr.contains(named), "{named} in {stderr}");
    }
}

#[test]
fn an_instance_that_cannot_live_in_its_memory_is_found_at_start() {
    let (status, stderr) = Setup::new().flag("--instance-memory", "65536").fail();
    assert!(!status.success() && stderr.contains("memory"), "{stderr}");
}

#[test]
fn a_component_that_is_none_is_named() {
    let (status, stderr) = Setup::new().component("no.wasm".into()).fail();
    assert!(!status.success() && stderr.contains("--component no.wasm"), "{stderr}");
}
