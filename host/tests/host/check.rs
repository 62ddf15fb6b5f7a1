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
fn the_routes_and_limits_of_a_document_are_printed_as_they_take_effect() {
    let document = r#"LB_POLICY_JSON={"version":1,"routes":[{"prefix":"/feeds/","methods":["HEAD","GET"]},
        {"path":"/job","methods":["POST"],"timeout_ms":70,"attempts":1,"limit":"api"}],
        "limits":{
            "api":{"key":"user","limit":120,"window_s":60,"client_address":{"header":"cf-connecting-ip"}},
            "ip":{"key":"ip","limit":1,"window_s":2,"code":"SLOW"}}}"#;
    let origins = r#"BACKEND_ORIGINS_JSON=["https://a.example","https://b.example"]"#;
    let output = check(&["--env", origins, "--env", document]);
    assert_eq!(output.status.code(), Some(0));
    let report = text(&output.stdout);
    let line = |start: &str| {
        let line = report.lines().find(|line| line.trim_start().starts_with(start));
        line.unwrap_or_else(|| panic!("{start} in {report}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("/job "), "/job POST 1 x 70 ms api");
    assert_eq!(line("/feeds/* "), "/feeds/* GET HEAD 2 x 10000 ms");
    let api =
        "api 120 in 60 s for each authorization, without one by the address in cf-connecting-ip; RATE_LIMIT";
    assert_eq!(line("api "), api);
    let ip = "ip 1 in 2 s for each client by its connection's address (told by Envoy alone: elsewhere all clients \
        are one); SLOW; no route names it";
    assert_eq!(line("ip "), ip);
    assert!(!report.contains("/reconcile "), "{report}");
}

#[test]
fn every_fault_of_a_document_is_printed_with_its_place_and_without_its_text() {
    let document = r#"LB_POLICY_JSON={"version":3,"s3cret":1,"routes":[{"path":"/s3cret/","methods":["S3CRET"]},
        {"prefix":"/a/","methods":["GET"],"limit":"s3cret","attempts":0}]}"#;
    let output = check(&["--env", r#"BACKEND_ORIGINS_JSON=["https://a.example"]"#, "--env", document]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stderr);
    for place in [
        ": key 2",
        ".version: ",
        ".routes[0].path: ",
        ".routes[0].methods: ",
        ".routes[1].limit: ",
        ".routes[1].attempts: ",
    ] {
        assert!(report.contains(&format!("error: LB_POLICY_JSON{place}")), "{place} in {report}");
    }
    assert!(!report.to_lowercase().contains("s3cret") && output.stdout.is_empty(), "{report}");
}

#[test]
fn an_unknown_variable_is_refused_without_its_text() {
    let output = check(&["--env", "LB_TIMEOUT=s3cret"]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stderr);
    assert!(report.contains("--env, number 1: unknown variable; known are "), "{report}");
    assert!(!report.contains("s3cret") && !report.contains("LB_TIMEOUT"), "{report}");
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
