//! What a malformed request on h2 costs in Envoy: itself, and none of those that share its connection, as
//! the clients behind one terminator do.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::path::Path;

use messageweave_lb_harness::envoy::{Envoy, free, render};

#[test]
fn a_malformed_request_costs_no_other_stream() {
    let address = free().unwrap();
    let listen = address.to_string();
    let flags = ["--listen", &listen, "--resolve", "a.example:443=127.0.0.1:9"];
    let variables = [("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#)];
    let bootstrap = render(&flags, &variables).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("envoy-h2-{}", std::process::id()));
    let _envoy = Envoy::start(&folder, &bootstrap, &["--concurrency", "1"]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut client = client.ready().await.unwrap();
        let request = |method: &str, url: &str| {
            http::Request::builder().method(method).uri(url).version(http::Version::HTTP_2).body(()).unwrap()
        };
        // Open while the malformed one comes.
        let (open, mut body) = client.send_request(request("POST", "http://lb.example/x"), false).unwrap();
        let (malformed, _) = client.send_request(request("GET", "http://u@lb.example/ready"), true).unwrap();
        assert!(malformed.await.map_or(true, |answer| answer.status() == 400));
        let _ = body.send_data(bytes::Bytes::from_static(b"body"), true);
        assert_eq!(open.await.unwrap().status(), 308);
        let (after, _) = client.send_request(request("GET", "http://lb.example/ready"), true).unwrap();
        assert_eq!(after.await.unwrap().status(), 308);
    });
}
