//! What the host tells of its work: the log, the access log, the metrics.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client;
use crate::origin::{self, Origin, keep_answering, ok, read_head, write};
use crate::process::{Host, PATIENCE, Setup, until};
use crate::trust::Authority;

/// A route and a limit of one's own, whose names are nobody's business.
const POLICY: &str = r#"{"version":1,"limits":{"s3cret":{"key":"ip","limit":1,"window_s":60}},
    "routes":[{"path":"/s3cret","methods":["GET"],"limit":"s3cret"}]}"#;

/// Both builds.
pub(crate) fn components() -> [PathBuf; 2] {
    ["messageweave-lb.wasm", "messageweave-lb-p3.wasm"]
        .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist").join(name))
}

/// Answers every request with this head and no body.
async fn answering(authority: &Authority, name: &'static str, head: &'static str) -> Origin {
    Origin::new(authority, name, move |mut stream, _| async move {
        while !read_head(&mut stream).await.is_empty() {
            write(&mut stream, format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n")).await;
        }
    })
    .await
}

/// `POST` of a single attempt, so that the first origin gets it.
async fn post(host: &Host, target: &str) -> u16 {
    let mut client = client::tls(host.address).await;
    client
        .send(format!("POST {target} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
        .await;
    client.last_answer().await.status
}

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(crate) async fn scrape(host: &Host) -> String {
    until("the address of the metrics", || host.announced().contains("/metrics")).await;
    let announced = host.announced();
    let address = announced.split("metrics on http://").nth(1).unwrap().split('/').next().unwrap();
    let mut client = client::plain(address.parse().unwrap()).await;
    client.send("GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let answer = client.last_answer().await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    answer.text().to_owned()
}

#[tokio::test]
async fn a_resolve_flag_for_no_origin_is_told_of() {
    let host = Setup::new()
        .flag("--env", r#"BACKEND_ORIGINS_JSON=["https://a.invalid", "https://b.invalid:8443"]"#)
        .flag("--resolve", "A.invalid.:443=127.0.0.1:1")
        .flag("--resolve", "b.invalid:8443=127.0.0.1:1")
        .flag("--resolve", "b.invalid:443=127.0.0.1:1")
        .start();
    host.says("--resolve b.invalid: no origin of the list; only redirects lead there", 1).await;
    assert_eq!(host.stderr().matches("--resolve").count(), 1, "{}", host.stderr());
    // Without its dot the first is that of the origin.
    let answer = client::get(host.address, "/ready").await;
    assert!(answer.text().ends_with("unavailable (refused)"), "{}", answer.text());
}

#[tokio::test]
async fn a_start_tells_the_effective_settings_on_one_line_without_a_secret() {
    let host = Setup::new()
        .flag("--env", r#"BACKEND_ORIGINS_JSON=["https://A.example:443"]"#)
        .flag("--env", "LB_MAX_ATTEMPTS=3")
        .flag("--env", "LB_ENV=dev")
        .flag("--env", format!("LB_POLICY_JSON={POLICY}"))
        .flag("--max-head-fields", "77")
        .flag("--metrics", "127.0.0.1:0")
        .flag("--resolve", "A.example:443=127.0.0.1:9")
        .start();
    scrape(&host).await;
    host.says("LB_REPLAY_MAX_BYTES=", 1).await;
    let stderr = host.stderr();
    let line = stderr.lines().find(|line| line.starts_with("messageweave-lb: serving ")).unwrap();
    for part in [
        r#"origins=["https://a.example"]"#,
        "LB_MAX_ATTEMPTS=3",
        "LB_REQUEST_TIMEOUT_MS=10000",
        "max_head_fields=77",
        r#"wasi_http="0.2""#,
        r#"LB_POLICY_JSON={"routes":1,"limits":1}"#,
        r#"LB_ENV={"limits_off":true}"#,
        r#"resolve=["a.example:443=127.0.0.1:9"]"#,
        "key=null",
        "env_file=null",
        &format!("metrics={:?}", host.announced().split("://").nth(1).unwrap().split('/').next().unwrap()),
        &format!(r#"listen=["{}"]"#, host.address),
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!line.contains("s3cret"), "{line}");
    let bad = Setup::new().flag("--env", r#"BACKEND_ORIGINS_JSON=["https://u:s3cret@a.example"]"#).start();
    bad.says("LB_REPLAY_MAX_BYTES=", 1).await;
    assert!(!bad.stderr().contains("s3cret") && bad.stderr().contains("origins=[]"), "{}", bad.stderr());
}

#[tokio::test]
async fn every_line_of_a_json_log_is_an_object_with_the_fields_that_it_has() {
    let authority = Authority::new();
    let origin = answering(&authority, "a.example", "502 Bad Gateway").await;
    for component in components() {
        let host = origin::setup(&authority, &[&origin])
            .component(component)
            .flag("--log", "json")
            .flag("--env", "LB_HEALTH_TTL_MS=never")
            .start();
        assert_eq!(post(&host, "/worker?token=s3cret").await, 503);
        host.says("all backends failed", 1).await;
        host.signal(rustix::process::Signal::HUP);
        until("a reload", || host.stderr().contains("reloaded") && host.stderr().ends_with("}\n")).await;
        let lines = objects(&host.stderr());
        assert!(lines.iter().all(|line| line["level"].is_string() && line["message"].is_string()));
        let failed = json!({
            "level": "WARN",
            "message": "attempt failed: POST /worker https://a.example HTTP 502",
            "method": "POST", "path": "/worker", "origin": "https://a.example", "failure": "HTTP 502",
        });
        assert!(lines.contains(&failed), "{lines:?}");
        let serving = lines.iter().find(|line| line["message"] == "serving").unwrap();
        assert_eq!(serving["origins"], json!(["https://a.example"]));
        assert!(lines.iter().any(|line| line["level"] == "ERROR"
            && line["message"].as_str().unwrap().contains("LB_HEALTH_TTL_MS: ")));
        assert!(!host.stderr().contains("s3cret"));
    }
}

#[tokio::test]
async fn a_start_that_fails_says_so_in_json_too() {
    let (status, stderr) = Setup::new().flag("--log", "json").flag("--ca", "no.pem").fail();
    let lines = objects(&stderr);
    assert!(!status.success() && lines.len() == 1, "{stderr}");
    assert!(lines[0]["level"] == "ERROR" && lines[0]["message"].as_str().unwrap().contains("--ca no.pem"));
}

#[tokio::test]
async fn the_access_log_has_a_line_per_request_and_never_a_query() {
    let authority = Authority::new();
    let bad = answering(&authority, "a.example", "500 Internal Server Error").await;
    let good = Origin::new(&authority, "b.example", |stream, _| keep_answering(stream, "well")).await;
    for component in components() {
        let host = origin::setup(&authority, &[&bad, &good])
            .component(component)
            .switch("--access-log")
            .flag("--log", "json")
            .start();
        assert_eq!(post(&host, "/worker?token=s3cret").await, 503);
        assert_eq!(client::get(host.address, "/no\u{85}pe?token=s3cret#s3cret").await.status, 404);
        // Half of all requests start at the bad one.
        for _ in 0..12 {
            assert_eq!(client::get(host.address, "/ready?token=s3cret").await.text(), "well");
        }
        until("fourteen lines", || host.announced().lines().count() == 14).await;
        let mut lines = objects(&host.announced());
        for line in &mut lines {
            assert!(line["ms"].as_u64().unwrap() < 20_000, "{line}");
            line.as_object_mut().unwrap().remove("ms");
        }
        let line = |method, path, status, origin, attempts| {
            json!({"method": method, "path": path,
            "status": status, "origin": origin, "attempts": attempts})
        };
        assert_eq!(lines[0], line("POST", "/worker", 503, json!("https://a.example"), 1));
        assert_eq!(lines[1], line("GET", "/no\\u{85}pe", 404, Value::Null, 0));
        let second = line("GET", "/ready", 200, json!("https://b.example"), 2);
        let first = line("GET", "/ready", 200, json!("https://b.example"), 1);
        assert!(lines[2..].iter().all(|line| [&first, &second].contains(&line)), "{lines:?}");
        assert!(lines.contains(&second), "{lines:?}");
        assert!(!host.announced().contains("s3cret"));
    }
}

#[tokio::test]
async fn a_client_that_leaves_has_a_line_of_its_own_and_the_last_lines_outlive_the_end() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    for component in components() {
        let before = origin.connections();
        let mut host =
            origin::setup(&authority, &[&origin]).component(component).switch("--access-log").start();
        let mut client = client::tls(host.address).await;
        client.send(client::request("GET", "/ready")).await;
        until("the request", || origin.connections() > before).await;
        drop(client);
        until("its line", || host.announced().starts_with("GET /ready 499 https://a.example 1 ")).await;
        assert_eq!(client::get(host.address, "/nope").await.status, 404);
        host.signal(rustix::process::Signal::TERM);
        assert!(host.ended().await.success());
        until("the last line", || host.announced().contains("GET /nope 404 - 0 ")).await;
    }
}

#[tokio::test]
async fn metrics_count_requests_attempts_failovers_and_failures_under_closed_labels() {
    let authority = Authority::new();
    let bad = answering(&authority, "a.example", "502 Bad Gateway").await;
    let good = Origin::new(&authority, "b.example", |stream, _| keep_answering(stream, "well")).await;
    for component in components() {
        let host = origin::setup(&authority, &[&bad, &good])
            .component(component)
            .flag("--metrics", "127.0.0.1:0")
            .start();
        assert_eq!(post(&host, "/worker?token=s3cret").await, 503);
        assert_eq!(client::get(host.address, "/s3cret?s3cret").await.status, 404);
        assert_eq!(client::get(host.address, "/healthz-worker").await.status, 200);
        for _ in 0..12 {
            assert_eq!(client::get(host.address, "/ready").await.status, 200);
        }
        // An answer is counted when it has been taken, which its client may see first.
        let all = r#"requests_total{route="/ready",status="200"} 12"#;
        let start = Instant::now();
        let mut text = scrape(&host).await;
        while !text.contains(all) && start.elapsed() < PATIENCE {
            text = scrape(&host).await;
        }
        let value = |name: &str| -> u64 {
            let line =
                text.lines().find_map(|line| line.strip_prefix("messageweave_lb_")?.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {text}")).trim().parse().unwrap()
        };
        assert_eq!(value(r#"requests_total{route="/worker",status="503"}"#), 1);
        assert_eq!(value(r#"requests_total{route="other",status="404"}"#), 1);
        assert_eq!(value(r#"requests_total{route="/healthz-worker",status="200"}"#), 1);
        assert_eq!(value(r#"request_duration_seconds_count{route="/ready"}"#), 12);
        let failovers = value(r#"failovers_total{route="/ready"}"#);
        assert_eq!(value(r#"attempts_total{origin="https://b.example"}"#), 12);
        assert_eq!(value(r#"attempts_total{origin="https://a.example"}"#), failovers + 1);
        // The probe of the view failed too.
        assert_eq!(value(r#"failures_total{class="HTTP 502",origin="https://a.example"}"#), failovers + 2);
        assert!(failovers > 0 && !text.contains("s3cret"), "{text}");
        assert!(!host.stderr().contains("s3cret") && !host.announced().contains("s3cret"));
    }
}

#[tokio::test]
async fn a_hop_of_a_redirect_is_no_attempt() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        while let head @ [_, ..] = read_head(&mut stream).await.as_bytes() {
            if head.starts_with(b"GET /ready ") {
                let found = "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
                write(&mut stream, found).await;
            } else {
                write(&mut stream, ok("there")).await;
            }
        }
    })
    .await;
    for component in components() {
        let host = origin::setup(&authority, &[&origin])
            .component(component)
            .switch("--access-log")
            .flag("--metrics", "127.0.0.1:0")
            .start();
        assert_eq!(client::get(host.address, "/ready").await.text(), "there");
        until("its line", || host.announced().contains("GET /ready 200 https://a.example 1 ")).await;
        let text = scrape(&host).await;
        assert!(text.contains(r#"attempts_total{origin="https://a.example"} 1"#), "{text}");
    }
}

#[tokio::test]
async fn the_address_of_the_metrics_serves_nothing_else_and_clients_get_none() {
    let host = Setup::new().flag("--metrics", "127.0.0.1:0").start();
    scrape(&host).await;
    let announced = host.announced();
    let address = announced.split("metrics on http://").nth(1).unwrap().split('/').next().unwrap();
    for (request, status) in [("GET /ready", 404), ("POST /metrics", 405), ("GET /metrics?x=1", 200)] {
        let mut client = client::plain(address.parse().unwrap()).await;
        client.send(format!("{request} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert_eq!(client.last_answer().await.status, status, "{request}");
    }
    assert_eq!(client::get(host.address, "/metrics").await.status, 404);
}
