//! The rendered configuration: the committed example, what `check` says of it, and what the filter does
//! when it is not the one that was rendered.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use messageweave_lb_harness::driver::{envoy_binary, filter, host_binary};
use messageweave_lb_harness::envoy::{Envoy, each, render};
use messageweave_lb_harness::load::answers;
use messageweave_lb_harness::origin::CertificateAuthority;
use serde_json::{Map, Value, json};

/// How `envoy/envoy.yaml` was made; its first lines say the same.
const EXAMPLE: &[&str] = &[
    "envoy-config",
    "--listen",
    "0.0.0.0:8443",
    "--cert",
    "/etc/messageweave-lb/cert.pem",
    "--key",
    "/etc/messageweave-lb/key.pem",
    "--filter",
    "/etc/messageweave-lb/messageweave-lb-envoy.wasm",
    "--env",
    r#"BACKEND_ORIGINS_JSON=["https://amber.example","https://blue.example:8443"]"#,
];
const ORIGINS: &str = r#"["https://a.example","https://b.example"]"#;

#[test]
fn the_committed_example_is_what_is_rendered() {
    let rendered = run(EXAMPLE);
    let committed = std::fs::read_to_string(example()).unwrap();
    let body: String =
        committed.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(body, String::from_utf8_lossy(&rendered.stdout), "render envoy/envoy.yaml again");
}

/// Envoy takes the first row that matches, and walks over all rows for each request.
#[test]
fn the_rows_of_a_document_stand_in_the_order_in_which_the_policy_finds_them() {
    let document = r#"{"version":1,"routes":[
        {"prefix":"/","methods":["GET"]},
        {"prefix":"/a/","methods":["GET"],"timeout_ms":7},
        {"prefix":"/a/b/","methods":["GET"],"timeout_ms":8},
        {"prefix":"/a/b/same/","methods":["GET"],"timeout_ms":8},
        {"prefix":"/a/b/back/","methods":["GET"]},
        {"path":"/a/b/c","methods":["GET"],"timeout_ms":9},
        {"path":"/a/b/d","methods":["GET"],"timeout_ms":8},
        {"path":"/x","methods":["GET"]},
        {"path":"/once","methods":["POST"],"attempts":1}]}"#;
    let origins = format!("BACKEND_ORIGINS_JSON={ORIGINS}");
    let output = run(&["envoy-config", "--env", &origins, "--env", &format!("LB_POLICY_JSON={document}")]);
    let text = String::from_utf8_lossy(&output.stdout);
    let bootstrap: Value = yaml_serde::from_str(&text).unwrap();
    let manager = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
    let routes = bootstrap.pointer(&format!("{manager}/route_config/virtual_hosts/0/routes")).unwrap();
    let row = |route: &Value| {
        let matched = route["match"]["path"].as_str().or_else(|| route["match"]["prefix"].as_str()).unwrap();
        let policy = &route["route"]["retry_policy"];
        let timeout = policy["per_try_timeout"].as_str().unwrap();
        format!("{matched} {} {timeout}", policy["num_retries"])
    };
    // The first are those of redirect hops.
    let hop = |route: &&Value| route["match"].get("headers").is_some();
    let rows: Vec<_> = routes.as_array().unwrap().iter().skip_while(hop).map(row).collect();
    assert_eq!(
        rows,
        ["/a/b/c 1 0.009s", "/once 0 10s", "/a/b/back/ 1 10s", "/a/b/ 1 0.008s", "/a/ 1 0.007s", "/ 1 10s",]
    );
}

#[test]
fn envoy_finds_no_fault_in_the_example() {
    let folder = folder("validate");
    let (certificate, key) = CertificateAuthority::new().unwrap().issue_pem("lb.example").unwrap();
    std::fs::write(folder.join("cert.pem"), certificate).unwrap();
    std::fs::write(folder.join("key.pem"), key).unwrap();
    let here = |text: String| {
        let module = filter().display().to_string();
        let text = text.replace("/etc/messageweave-lb/messageweave-lb-envoy.wasm", &module);
        text.replace("/etc/messageweave-lb", &folder.display().to_string())
    };
    let file = folder.join("envoy.yaml");
    std::fs::write(&file, here(std::fs::read_to_string(example()).unwrap())).unwrap();
    let output = Command::new(envoy_binary()).args(["--mode", "validate", "-c"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("Deprecated") && !said.contains("deprecated"), "{said}");
}

#[test]
fn check_refuses_a_configuration_that_was_rendered_for_other_origins() {
    let file = example();
    let check = |origins: &str| {
        let variable = format!("BACKEND_ORIGINS_JSON={origins}");
        run(&["check", "--env", &variable, "--envoy-config", file.to_str().unwrap()])
    };
    let same = check(r#"["https://amber.example","https://blue.example:8443"]"#);
    assert!(same.status.success(), "{same:?}");
    for other in
        [r#"["https://blue.example:8443","https://amber.example"]"#, r#"["https://amber.example"]"#, "[]"]
    {
        let output = check(other);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("render it again"), "{output:?}");
    }
}

#[test]
fn check_refuses_other_variables_than_those_that_a_file_was_rendered_from() {
    let file = example();
    let check = |variable: &str| {
        let origins = r#"BACKEND_ORIGINS_JSON=["https://amber.example","https://blue.example:8443"]"#;
        run(&["check", "--env", origins, "--env", variable, "--envoy-config", file.to_str().unwrap()])
    };
    for same in ["LB_POLICY_JSON= ", "LB_VERSION=7", "LB_HEALTH_TTL_MS=7"] {
        let output = check(same);
        assert!(output.status.success(), "{same}: {output:?}");
    }
    for other in [
        "LB_MAX_ATTEMPTS=1",
        "LB_ENV=dev",
        r#"LB_POLICY_JSON={"version":1,"routes":[{"path":"/","methods":["GET"]}]}"#,
    ] {
        let output = check(other);
        assert!(!output.status.success(), "{other}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("render it again"), "{output:?}");
    }
}

#[test]
fn check_refuses_a_file_whose_filters_would_refuse_their_own_variables() {
    let file = folder("edited").join("envoy.json");
    let check = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut bootstrap = plain(ORIGINS).1;
        each(&mut bootstrap, &mut |object| {
            object
                .get_mut("environment_variables")
                .and_then(Value::as_object_mut)
                .into_iter()
                .for_each(change);
        });
        std::fs::write(&file, bootstrap.to_string()).unwrap();
        let origins = format!("BACKEND_ORIGINS_JSON={ORIGINS}");
        let trust = "LB_TRUST_FORWARDED_PROTO=1";
        run(&["check", "--env", &origins, "--env", trust, "--envoy-config", file.to_str().unwrap()])
    };
    let set = |name: &'static str, value: &'static str| {
        move |variables: &mut Map<String, Value>| variables["key_values"][name] = json!(value)
    };
    let inherited = |variables: &mut Map<String, Value>| {
        variables.insert("host_env_keys".to_owned(), json!(["BACKEND_ORIGINS_JSON"]));
        variables["key_values"] = json!({ "LB_TRUST_FORWARDED_PROTO": "1" });
    };
    for same in [&set("LB_VERSION", "7") as &dyn Fn(&mut Map<String, Value>), &inherited] {
        let output = check(same);
        assert!(output.status.success(), "{output:?}");
    }
    for other in [
        set("BACKEND_ORIGINS_JSON", r#"["https://b.example","https://a.example"]"#),
        set("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#),
        set("LB_MAX_ATTEMPTS", "1"),
    ] {
        let output = check(&other);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("render it again"), "{output:?}");
    }
}

/// Envoy reads both.
#[test]
fn check_reads_the_names_of_fields_in_either_spelling() {
    let file = folder("spelt").join("envoy.json");
    let names = [
        ("vm_config", "vmConfig"),
        ("environment_variables", "environmentVariables"),
        ("key_values", "keyValues"),
    ];
    let text = plain(ORIGINS).1.to_string();
    let text = names.iter().fold(text, |text, (name, other)| text.replace(name, other));
    std::fs::write(&file, text).unwrap();
    let origins = format!("BACKEND_ORIGINS_JSON={ORIGINS}");
    let trust = "LB_TRUST_FORWARDED_PROTO=1";
    let output = run(&["check", "--env", &origins, "--env", trust, "--envoy-config", file.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_filter_refuses_clusters_that_were_rendered_for_other_origins() {
    refuses("mismatch", "BACKEND_ORIGINS_JSON", r#"["https://b.example","https://a.example"]"#);
}

#[test]
fn the_filter_refuses_routes_that_were_rendered_from_other_variables() {
    refuses("stale", "LB_TRUST_FORWARDED_PROTO", "true");
}

/// The variable is another one than when the configuration was rendered.
fn refuses(name: &str, variable: &str, other: &str) {
    let mut bootstrap = plain(ORIGINS);
    each(&mut bootstrap.1, &mut |object| {
        if let Some(value) = object.get_mut(variable) {
            *value = json!(other);
        }
    });
    let envoy = Envoy::start(&folder(name), &bootstrap.1, &["--concurrency", "1"]).unwrap();
    let answers = ask(bootstrap.0, &["/nope", "/ready", "/healthz-worker"]);
    assert!(answers[0].contains("route not forwarded: /nope"), "{answers:?}");
    // The clusters are those of other origins: no probe could tell of these.
    let view = r#"{"status":"misconfigured","version":"unknown","available":0,"total":0,"backends":[]}"#;
    assert!(answers[2].starts_with("HTTP/1.1 503") && answers[2].ends_with(view), "{answers:?}");
    assert!(
        answers[1].starts_with("HTTP/1.1 503") && answers[1].ends_with("misconfigured backends"),
        "{answers:?}"
    );
    assert!(envoy.log().contains("render it again"), "{}", envoy.log());
}

/// The kernel would divide the clients between the two, and a forgotten one would answer half of them.
#[test]
fn a_second_envoy_on_the_port_does_not_start() {
    let bootstrap = plain(ORIGINS).1;
    let _first = Envoy::start(&folder("first"), &bootstrap, &["--concurrency", "1"]).unwrap();
    let Err(refused) = Envoy::start(&folder("second"), &bootstrap, &["--concurrency", "1"]) else {
        panic!("both serve")
    };
    assert!(refused.contains("Address already in use"), "{refused}");
}

#[test]
fn two_listeners_on_a_free_port_are_two() {
    let flags = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let bootstrap = render(&flags, &[("BACKEND_ORIGINS_JSON", ORIGINS)]).unwrap();
    let envoy = Envoy::start(&folder("two"), &bootstrap, &["--concurrency", "1"]).unwrap();
    let listeners = envoy.ask("GET /listeners").unwrap();
    assert_eq!(listeners.lines().filter(|line| line.contains("::127.0.0.1:")).count(), 2, "{listeners}");
}

/// Envoy says so at each start, and neither is covered by its threat model.
#[test]
fn nothing_that_envoy_warns_of_is_used() {
    let envoy = Envoy::start(&folder("warnings"), &plain(ORIGINS).1, &["--concurrency", "1"]).unwrap();
    let log = envoy.log();
    for word in ["work-in-progress", "eprecated", "threat model"] {
        assert!(!log.contains(word), "{log}");
    }
}

#[test]
fn a_bad_configuration_is_served_as_such_and_its_text_is_in_no_log() {
    let (address, bootstrap) = plain(r#"["https://a.example","https://user:s3cret@b.example"]"#);
    assert_eq!(bootstrap["static_resources"]["clusters"], json!([]));
    let envoy = Envoy::start(&folder("bad"), &bootstrap, &["--concurrency", "1"]).unwrap();
    let answers = ask(address, &["/nope", "/ready", "/healthz-worker"]);
    assert!(answers[0].contains("route not forwarded: /nope"), "{answers:?}");
    assert!(answers[1].ends_with("misconfigured backends"), "{answers:?}");
    assert!(answers[2].contains(r#""status":"misconfigured""#), "{answers:?}");
    let log = envoy.log();
    assert!(log.contains("BACKEND_ORIGINS_JSON[1]: an origin carries no credentials"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
}

/// A configuration without TLS towards the client.
fn plain(origins: &str) -> (SocketAddr, Value) {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let listen = address.to_string();
    let flags = [
        "--listen",
        &listen,
        "--resolve",
        "a.example:443=127.0.0.1:9",
        "--resolve",
        "b.example:443=127.0.0.1:9",
    ];
    let variables = [("BACKEND_ORIGINS_JSON", origins), ("LB_TRUST_FORWARDED_PROTO", "1")];
    (address, render(&flags, &variables).unwrap())
}

fn ask(address: SocketAddr, paths: &[&str]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let requests: Vec<_> = paths
        .iter()
        .map(|path| format!("GET {path} HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\r\n"))
        .collect();
    let requests: Vec<_> = requests.iter().map(String::as_str).collect();
    let answers = runtime.block_on(answers(address, &requests));
    assert_eq!(answers.len(), paths.len(), "{answers:?}");
    answers
}

fn run(arguments: &[&str]) -> Output {
    Command::new(host_binary()).env_clear().args(arguments).output().unwrap()
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../envoy/envoy.yaml")
}

fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("envoy-config-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
