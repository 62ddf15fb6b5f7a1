//! A balancer that did not run for a while (its machine was busy, or asleep) finds a clock run out and what
//! it waited for there: what is there counts, the clock does not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests are tests")]

use std::path::Path;
use std::time::Duration;

use messageweave_lb_harness::case::parse;
use messageweave_lb_harness::driver::{Component, Host, World};
use messageweave_lb_harness::origin::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

const CASE: &str = r#"
why = "2.6: a client that has sent something is not silent"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
LB_REQUEST_TIMEOUT_MS = "400"
LB_TRUST_FORWARDED_PROTO = "1"
[[origin]]
url = "https://a.example"
script = [{ status = 200, echo = true, delay_ms = 250, repeat = true }]
[[step]]
request = { target = "/ready" }
answer = { status = 200 }
"#;
/// It is a race, so it is run often.
const TIMES: usize = 10;
const CLOCK: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
async fn a_balancer_that_was_stopped_blames_neither_client_nor_origin() {
    for world in World::ALL {
        let case = parse("stopped", CASE).unwrap();
        let driver = Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let network = Network::start(&case, driver.authority()).await.unwrap();
        let host = Host::start(&driver.launch(&case, &network)).await.unwrap();
        for time in 0..TIMES {
            for (body, rest) in [("half", "half"), ("whole...", "")] {
                let sending = sends_while_it_is_stopped(&host, body, rest);
                let answer = timeout(Duration::from_secs(30), sending).await.unwrap().unwrap();
                let whole = answer.starts_with("HTTP/1.1 200") && answer.ends_with(&[body, rest].concat());
                assert!(whole, "{world:?}, {body:?} and {rest:?}, time {time}: {answer}");
            }
        }
        host.stop().await.unwrap();
        assert_eq!(network.finish().await, Vec::<String>::new());
    }
}

/// Stops the balancer while it waits: for the rest of the body, or for the answer if there is none.
async fn sends_while_it_is_stopped(host: &Host, body: &str, rest: &str) -> std::io::Result<String> {
    let mut client = TcpStream::connect(host.address).await?;
    let head = "POST /webhook/tg HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n\
                connection: close\r\ncontent-length: 8\r\n\r\n";
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await?;
    // Until the balancer waits; nothing outside of it tells when.
    sleep(CLOCK / 4).await;
    signal(host, "-STOP").await?;
    sleep(CLOCK).await;
    client.write_all(rest.as_bytes()).await?;
    sleep(CLOCK / 4).await;
    signal(host, "-CONT").await?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn signal(host: &Host, signal: &str) -> std::io::Result<()> {
    let id = host.id().unwrap_or_default().to_string();
    let status = Command::new("kill").args([signal, &id]).status().await?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other("no such process")) }
}
