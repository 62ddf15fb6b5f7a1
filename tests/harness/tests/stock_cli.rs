//! Either component on the stock `wasmtime serve -Scli`: every answer that needs no origin.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use messageweave_lb_harness::case::parse;
use messageweave_lb_harness::driver::{Driver, Stock, World};

/// Every request arrives over http, as far as this host knows.
const UPGRADES: &str = r#"
why = "2.2: the stock CLI reports http, so whatever comes is sent to https"
[[step]]
request = { over = "http", target = "/ready?a=%20&b=?" , host = "Admin.Example:80" }
[step.answer]
status = 308
headers = [["location", "https://admin.example/ready?a=%20&b=?"], ["cache-control", "no-store"]]
[[step]]
request = { over = "http", method = "POST", target = "//evil.example/x", body = "payload" }
[step.answer]
status = 308
headers = [["location", "https://lb.example//evil.example/x"]]
"#;

/// Behind a TLS terminator. %ORIGIN% is a port on which nobody listens.
const LOCAL_ANSWERS: &str = r#"
why = "2.2 to 2.4, 2.8: behind a terminator the stock CLI gives every local answer"
[env]
LB_TRUST_FORWARDED_PROTO = "1"
LB_VERSION = "v9"
BACKEND_ORIGINS_JSON = '["%ORIGIN%"]'
%FIRST%
[[step]]
[step.request]
over = "http"
target = "/api/bootstrap?token=secret"
headers = [["x-forwarded-proto", "https"]]
[step.answer]
status = 404
headers = [["content-type", "text/plain; charset=utf-8"], ["cache-control", "no-store"]]
body = "route not forwarded: /api/bootstrap"
[[step]]
[step.request]
over = "http"
method = "DELETE"
target = "/api/config"
headers = [["x-forwarded-proto", "https"]]
[step.answer]
status = 405
headers = [["allow", "GET, PUT"]]
body = "method not allowed for /api/config"
[[step]]
[step.request]
over = "http"
target = "/healthz-worker"
headers = [["x-forwarded-proto", "https"]]
[step.answer]
status = 503
headers = [["content-type", "application/json"], ["cache-control", "no-store"]]
json = '{"status":"down","version":"v9","available":0,"total":1,"backends":[{"origin":"%ORIGIN%","up":false,"status":null}]}'
[[step]]
[step.request]
over = "http"
method = "POST"
target = "/webhook/tg"
headers = [["x-forwarded-proto", "https"]]
body = "payload"
[step.answer]
status = 503
body = "all backends failed: backend %ORIGIN% unavailable (refused)"
[log]
never = ["secret", "payload"]
"#;

/// What the terminator did not say came over http.
const FIRST: &str = r#"
[[step]]
request = { over = "http", target = "/ready" }
answer = { status = 308, headers = [["location", "https://lb.example/ready"]] }
"#;

const MISCONFIGURED: &str = r#"
why = "2.4: a bad configuration never stops the start, and is 503 where it would forward"
[env]
LB_TRUST_FORWARDED_PROTO = "true"
BACKEND_ORIGINS_JSON = '[{"url": "https://user:hunter2@a.example"}]'
[[step]]
[step.request]
over = "http"
target = "/ready"
headers = [["x-forwarded-proto", "https"]]
[step.answer]
status = 503
body = "misconfigured backends"
[log]
never = ["hunter2"]
"#;

/// The stock CLI tells a 0.3 component neither scheme nor authority nor Host of a request in origin
/// form: there is nothing to build a 308 from. In absolute form the target has all of them.
const HIDDEN: &str = r#"
why = "2.2: a host that keeps Host to itself makes every request one without a Host"
[[step]]
request = { over = "http", target = "/ready" }
answer = { status = 400, body = "malformed host" }
[[step]]
request = { over = "http", target = "http://lb.example/ready?a=%20" }
answer = { status = 308, headers = [["location", "https://lb.example/ready?a=%20"]] }
"#;

/// Five requests within the life of the verdict. %ORIGIN% hangs up on whoever connects.
const VIEWS: &str = r#"
why = "2.8: the cache lives as long as the host keeps the instance"
[env]
LB_TRUST_FORWARDED_PROTO = "1"
BACKEND_ORIGINS_JSON = '["%ORIGIN%"]'
"#;

const VIEW: &str = r#"
[[step]]
[step.request]
over = "http"
target = "/healthz-worker"
headers = [["x-forwarded-proto", "https"]]
[step.answer]
status = 503
json = '{"status":"down","version":"unknown","available":0,"total":1,"backends":[{"origin":"%ORIGIN%","up":false,"status":null}]}'
"#;

#[test]
fn the_stock_cli_sends_http_to_https() {
    holds(World::Proxy, "stock/upgrades", UPGRADES);
}

#[test]
fn the_stock_cli_hides_from_a_service_what_a_308_needs() {
    holds(World::Service, "stock/hidden", HIDDEN);
}

#[test]
fn the_stock_cli_gives_every_local_answer() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&loopback.into()).expect("a port");
    let address = socket.local_addr().expect("an address").as_socket().expect("an IP address");
    let text = LOCAL_ANSWERS.replace("%ORIGIN%", &format!("https://{address}"));
    holds(World::Proxy, "stock/local", &text.replace("%FIRST%", FIRST));
    holds(World::Service, "stock/local", &text.replace("%FIRST%", ""));
}

#[test]
fn the_stock_cli_starts_with_a_bad_configuration() {
    for world in World::ALL {
        holds(world, "stock/misconfigured", MISCONFIGURED);
    }
}

#[test]
fn the_stock_cli_keeps_the_health_cache_of_a_service_alone() {
    for (world, probes) in [(World::Proxy, 5), (World::Service, 1)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let origin = format!("https://{}", listener.local_addr().expect("an address"));
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            // Dropping the connection is the hanging up.
            while listener.accept().is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let text = format!("{VIEWS}{}", VIEW.repeat(5)).replace("%ORIGIN%", &origin);
        holds(world, "stock/views", &text);
        assert_eq!(count.load(Ordering::SeqCst), probes, "{world:?}");
    }
}

fn holds(world: World, name: &str, text: &str) {
    let found = parse(name, text).and_then(|case| {
        let driver = Stock::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        Ok(driver.run(&case))
    });
    assert_eq!(found, Ok(Vec::new()), "{world:?}");
}
