//! What Envoy must survive with the filter in it: a trap, many views, a configuration in place of another.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests are tests"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use messageweave_lb_harness::driver::{filter, trapping_filter};
use messageweave_lb_harness::envoy::{Envoy, each, free, origin, render, without_tls};
use messageweave_lb_harness::load::answers;
use serde_json::{Value, json};

/// The shipped module stays below this, in bytes.
const LARGEST_MODULE: u64 = 400_000;
const REQUEST: &str = "GET /ready HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\r\n";
const REFUSED: &str = "GET /nope HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\r\n";
const TRAP: &str =
    "GET /nope HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\nx-lb-trap: 1\r\n\r\n";

#[test]
fn the_module_is_small_and_has_no_hook_for_tests() {
    let module = std::fs::read(filter()).unwrap();
    assert!((module.len() as u64) < LARGEST_MODULE, "{} bytes", module.len());
    let hook = b"x-lb-trap";
    assert!(!module.windows(hook.len()).any(|bytes| bytes == hook));
}

#[test]
fn a_trap_costs_one_request() {
    let (envoy, address) = trapping(&folder("trap"), free().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for _ in 0..5 {
        // Envoy makes no new VM within 2 ms of the last one; nothing tells when they are over.
        std::thread::sleep(Duration::from_millis(10));
        let trapped = runtime.block_on(answers(address, &[TRAP]));
        assert!(!trapped.concat().contains("route not forwarded"), "{trapped:?}");
        let next = runtime.block_on(answers(address, &[REFUSED, REFUSED]));
        assert!(
            next.iter().all(|answer| answer.contains("route not forwarded: /nope")),
            "{next:?} {}",
            envoy.log()
        );
    }
}

/// Twenty connections with one VM: what it had decided goes on without it, a body that it was to see does not.
#[test]
fn a_trap_ends_the_uploads_beside_it_and_nothing_else() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let (envoy, address) = trapping(&folder("beside"), origin.local_addr().unwrap());
    let forwarded = |text: &str| (client(address, text), origin.accept().unwrap().0);
    for _ in 0..3 {
        let uploading: Vec<_> = (0..6).map(|_| forwarded(HALF)).collect();
        let waiting: Vec<_> = (0..6).map(|_| forwarded(REQUEST)).collect();
        let mut idle: Vec<_> = (0..7).map(|_| client(address, REFUSED)).collect();
        idle.iter_mut().for_each(|client| assert_eq!(status(client, &envoy), "404"));
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(status(&mut client(address, TRAP), &envoy), "503");
        for (mut client, _origin) in uploading {
            client.write_all(b"end").unwrap();
            assert_eq!(status(&mut client, &envoy), "503");
        }
        for (mut client, mut origin) in waiting {
            origin.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").unwrap();
            assert_eq!(status(&mut client, &envoy), "200");
            idle.push(client);
        }
        for mut client in idle {
            client.write_all(REFUSED.as_bytes()).unwrap();
            assert_eq!(status(&mut client, &envoy), "404");
        }
    }
}

#[test]
fn forty_views_over_four_workers_cost_one_probe_per_origin_and_period() {
    let (address, probed) = (free().unwrap(), free().unwrap());
    let origin = Envoy::start(&folder("probed"), &origin(probed), &["--concurrency", "1"]).unwrap();
    let resolves = ["a", "b", "c"].map(|name| format!("{name}.example:443={probed}"));
    let listen = address.to_string();
    let mut flags = vec!["--listen", &listen];
    resolves.iter().for_each(|resolve| flags.extend(["--resolve", resolve]));
    let variables = [
        ("BACKEND_ORIGINS_JSON", r#"["https://a.example","https://b.example","https://c.example"]"#),
        ("LB_TRUST_FORWARDED_PROTO", "1"),
        ("LB_HEALTH_TTL_MS", "2000"),
    ];
    let mut bootstrap = render(&flags, &variables).unwrap();
    without_tls(&mut bootstrap);
    let _envoy = Envoy::start(&folder("workers"), &bootstrap, &["--concurrency", "4"]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let view = "GET /healthz-worker HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\r\n";
    for period in 1..=3 {
        let views = runtime.block_on(async {
            let mut clients = tokio::task::JoinSet::new();
            (0..40).for_each(|_| drop(clients.spawn(async move { answers(address, &[view]).await })));
            clients.join_all().await.concat()
        });
        assert_eq!(views.len(), 40);
        assert!(
            views.iter().all(|view| view.contains(r#""status":"ok""#) && view.contains(r#""available":3"#)),
            "{views:?}"
        );
        let completed = "http.origin.downstream_rq_completed";
        let probes = origin.stats(completed).get(completed).copied();
        assert_eq!(probes, Some(3 * period), "probes after {period} period(s)");
        // The only clock of the cache is the real one.
        std::thread::sleep(Duration::from_millis(2100));
    }
}

#[test]
fn a_plugin_that_is_replaced_leaves_no_stream_alone() {
    let (envoy, mut bootstrap, address) = uploading(&folder("replaced"), "600");
    let [mut sending, mut silent, mut idle] = [HALF, HALF, ""].map(|text| client(address, text));
    // Other words of the same meaning: another plugin, in the same VM.
    configured(&mut bootstrap, &|text| format!("{text} "));
    apply(&envoy, &bootstrap, "INBOUND");
    sending.write_all(b"end").unwrap();
    assert_eq!(status(&mut sending, &envoy), "200");
    idle.write_all(REFUSED.as_bytes()).unwrap();
    assert_eq!(status(&mut idle, &envoy), "404");
    assert_eq!(status(&mut silent, &envoy), "408");
}

#[test]
fn a_plugin_that_is_taken_back_leaves_nothing_behind() {
    let (envoy, bootstrap, address) = uploading(&folder("taken-back"), "1");
    let mut other = bootstrap.clone();
    configured(&mut other, &|text| text.replace("a.example", "b.example"));
    apply(&envoy, &other, "INBOUND");
    apply(&envoy, &bootstrap, "UNSPECIFIED");
    let whole = || client(address, &(HALF.to_owned() + "end"));
    assert_eq!(status(&mut whole(), &envoy), "200");
    // A clock runs while the one that was taken back goes with its listener.
    let mut sending = client(address, HALF);
    std::thread::sleep(Duration::from_millis(500));
    while envoy.sum("listener_manager.total_listeners_draining") > 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    sending.write_all(b"end").unwrap();
    assert_eq!(status(&mut sending, &envoy), "200");
    let begun = Instant::now();
    assert_eq!(status(&mut client(address, HALF), &envoy), "408");
    // Envoy's own clock would end it later, in other words.
    assert!(begun.elapsed() < TIMEOUT * 2, "{:?}", begun.elapsed());
    assert_eq!(status(&mut whole(), &envoy), "200");
}

const TIMEOUT: Duration = Duration::from_secs(2);
/// An upload without its end.
const HALF: &str = "POST /webhook/tg HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\
    content-length: 6\r\n\r\nabc";

/// An Envoy whose listener can be replaced and then drains for so many seconds, in front of an origin that
/// waits for the end of an upload.
fn uploading(folder: &Path, drain: &str) -> (Envoy, Value, SocketAddr) {
    let (address, patient) = (free().unwrap(), patient_origin());
    let variables = [
        ("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#),
        ("LB_TRUST_FORWARDED_PROTO", "1"),
        ("LB_REQUEST_TIMEOUT_MS", "2000"),
    ];
    let (listen, resolve) = (address.to_string(), format!("a.example:443={patient}"));
    let mut bootstrap = render(&["--listen", &listen, "--resolve", &resolve], &variables).unwrap();
    without_tls(&mut bootstrap);
    let flags = ["--concurrency", "1", "--drain-time-s", drain];
    (Envoy::watching(folder, &bootstrap, &flags).unwrap(), bootstrap, address)
}

fn client(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn status(stream: &mut TcpStream, envoy: &Envoy) -> String {
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).unwrap_or_else(|error| panic!("{error}: {}", envoy.log()));
    String::from_utf8_lossy(&answer[..length]).split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Changes the configuration of the listener's plugins.
fn configured(bootstrap: &mut Value, change: &impl Fn(&str) -> String) {
    each(&mut bootstrap["static_resources"]["listeners"], &mut |object| {
        if let Some(Value::String(text)) =
            object.get_mut("value").filter(|text| text.to_string().contains("role"))
        {
            *text = change(text);
        }
    });
}

/// Answers a request once it has read the last word of its body.
fn patient_origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    if buffer[..length].ends_with(b"end") {
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                    }
                }
            });
        }
    });
    address
}

/// Pushes a configuration in which more than the listener's chains differs from the last one: they are not
/// replaced in place.
fn apply(envoy: &Envoy, bootstrap: &Value, direction: &str) {
    let mut bootstrap = bootstrap.clone();
    bootstrap["static_resources"]["listeners"][0]["traffic_direction"] = json!(direction);
    envoy.push(&bootstrap).unwrap();
}

/// An Envoy with one worker and the filter with its hook for tests.
fn trapping(folder: &Path, origin: SocketAddr) -> (Envoy, SocketAddr) {
    let address = free().unwrap();
    let variables = [("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#), ("LB_TRUST_FORWARDED_PROTO", "1")];
    let (listen, filter) = (address.to_string(), trapping_filter().display().to_string());
    let resolve = format!("a.example:443={origin}");
    let flags = ["--listen", &listen, "--filter", &filter, "--resolve", &resolve];
    let mut bootstrap = render(&flags, &variables).unwrap();
    without_tls(&mut bootstrap);
    (Envoy::start(folder, &bootstrap, &["--concurrency", "1"]).unwrap(), address)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("envoy-{name}-{}", std::process::id()))
}
