//! The helper of `envoy`: asks Envoy's admin interface until it is ready, prints where it listens,
//! and tidies up when it has ended.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::arguments::EnvoyWatchArguments;
use crate::output::{self, Output};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends when Envoy does.
pub(crate) fn watch(arguments: &EnvoyWatchArguments) -> ExitCode {
    let admin = arguments.admin.clone();
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nothing is ever written: this is the end of the process that holds the other side.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    // Nobody need take what is said: what was rendered is removed all the same.
    let said = Output::open(std::io::stdout(), |_| String::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(async {
            // A stop of the whole is sent to both, and this one has to come last.
            let _ignored =
                [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let mut end = end;
            tokio::select! {
                addresses = ready(&admin) => {
                    for address in addresses {
                        said.write(format!("listening on http://{address}\n").as_bytes());
                    }
                    let _ = (&mut end).await;
                }
                _ = &mut end => {}
            }
        });
    }
    let removed = std::fs::remove_dir_all(&arguments.folder);
    said.flush(output::last_lines());
    if removed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The addresses of all listeners, once Envoy serves.
async fn ready(admin: &Path) -> Vec<String> {
    loop {
        if ask(admin, "/ready").await.is_some()
            && let Some(text) = ask(admin, "/listeners?format=json").await
            && let Ok(listeners) = serde_json::from_slice::<Value>(&text)
        {
            return addresses(&listeners);
        }
        sleep(PAUSE).await;
    }
}

fn addresses(listeners: &Value) -> Vec<String> {
    let statuses = listeners.pointer("/listener_statuses").and_then(Value::as_array);
    let of = |status: &Value| {
        let address = status.pointer("/local_address/socket_address")?;
        let ip = address.get("address")?.as_str()?.parse().ok()?;
        let port = address.get("port_value")?.as_u64()?;
        Some(std::net::SocketAddr::new(ip, u16::try_from(port).ok()?).to_string())
    };
    statuses.into_iter().flatten().filter_map(of).collect()
}

/// The body of a 200 answer.
async fn ask(admin: &Path, path: &str) -> Option<Bytes> {
    match admin.to_str()?.parse::<std::net::SocketAddr>() {
        Ok(address) => get(TcpStream::connect(address).await.ok()?, path).await,
        Err(_) => get(UnixStream::connect(PathBuf::from(admin)).await.ok()?, path).await,
    }
}

async fn get(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, path: &str) -> Option<Bytes> {
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let request = http::Request::get(path).header("host", "admin").body(Empty::<Bytes>::new()).ok()?;
    let response = sender.send_request(request).await.ok()?;
    let found = response.status().is_success();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    connection.abort();
    found.then_some(body)
}
