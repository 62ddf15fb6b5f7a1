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
    const ORIGINS: &str = "BACKEND_ORIGINS_JSON=[]";
    let by_file = Setup::new();
    let file = by_file.file("given.env");
    std::fs::write(&file, ORIGINS).unwrap();
    for setup in [Setup::new().flag("--env", ORIGINS), by_file.flag("--env-file", file)] {
        let (status, stderr) = setup.switch("--demo").fail();
        assert!(!status.success() && stderr.contains("drop one of the two"), "{stderr}");
    }
}

#[tokio::test]
async fn origins_of_the_environment_give_way_to_the_demo_and_a_line_says_so() {
    let setup = Setup::new().process_env("BACKEND_ORIGINS_JSON", r#"["https://a.invalid"]"#);
    let host = setup.switch("--demo").start();
    assert_eq!(client::get(host.address, "/").await.status, 200);
    host.says("BACKEND_ORIGINS_JSON of the environment is not used", 1).await;
}
