//! The component on the stock `wasmtime serve -Scli`: every answer that needs no origin.

use std::path::Path;

use messageweave_lb_harness::case::parse;
use messageweave_lb_harness::driver::{Driver, Stock};

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
[[step]]
request = { over = "http", target = "/ready" }
answer = { status = 308, headers = [["location", "https://lb.example/ready"]] }
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

#[test]
fn the_stock_cli_sends_http_to_https() {
    holds("stock/upgrades", UPGRADES);
}

#[test]
fn the_stock_cli_gives_every_local_answer() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&loopback.into()).expect("a port");
    let address = socket.local_addr().expect("an address").as_socket().expect("an IP address");
    holds("stock/local", &LOCAL_ANSWERS.replace("%ORIGIN%", &format!("https://{address}")));
}

#[test]
fn the_stock_cli_starts_with_a_bad_configuration() {
    holds("stock/misconfigured", MISCONFIGURED);
}

fn holds(name: &str, text: &str) {
    let found = parse(name, text).and_then(|case| {
        let driver = Stock::new(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        Ok(driver.run(&case))
    });
    assert_eq!(found, Ok(Vec::new()));
}
