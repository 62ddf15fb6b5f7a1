//! `--demo`: what its four lines promise.

use crate::client;
use crate::process::{Setup, until};

#[tokio::test]
async fn the_demo_forwards_and_survives_a_stopped_backend() {
    let host = Setup::new().switch("--demo").start();
    until("four lines to paste", || host.announced().matches("curl").count() >= 4).await;
    let page = client::get(host.address, "/").await;
    assert!(page.status == 200 && page.text().contains("This page comes from the backend"));
    let view = client::get(host.address, "/healthz-worker").await;
    assert!(view.text().contains(r#""status":"ok""#), "{}", view.text());
    let announced = host.announced();
    let stop = announced.split("https://").find(|part| part.contains("/demo/stop")).unwrap();
    let (address, _) = stop.split_once('/').unwrap();
    let mut backend = client::tls(address.parse().unwrap()).await;
    backend.send("POST /demo/stop HTTP/1.1\r\nhost: demo\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(backend.last_answer().await.status, 200);
    // Eight requests that all start with the stopped one are as good as impossible.
    for _ in 0..8 {
        let answer = client::get(host.address, "/api/status").await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    host.says("refused", 1).await;
}

#[tokio::test]
async fn a_demo_with_origins_of_its_own_is_refused() {
    let (status, stderr) = Setup::new().switch("--demo").flag("--env", "BACKEND_ORIGINS_JSON=[]").fail();
    assert!(!status.success() && stderr.contains("BACKEND_ORIGINS_JSON"), "{stderr}");
}
