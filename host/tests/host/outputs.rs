//! Standard output and standard error that nobody takes: gone, full, or not read.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write, pipe};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::client;
use crate::origin::{self, Origin, read_head, write};
use crate::process::Setup;
use crate::reports::components;
use crate::trust::Authority;

/// A disk without room.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader has left.
fn gone() -> Stdio {
    pipe().unwrap().1.into()
}

#[tokio::test]
async fn a_standard_error_that_is_full_or_gone_costs_no_start_no_reload_and_no_answer() {
    for stderr in [full().into(), gone()] {
        let mut host = Setup::new().stderr(stderr).start();
        for _ in 0..3 {
            host.signal(Signal::HUP);
            assert_eq!(client::get(host.address, "/nope").await.status, 404);
        }
        host.signal(Signal::TERM);
        assert_eq!(host.ended().await.code(), Some(0));
    }
}

#[tokio::test]
async fn a_standard_error_that_is_not_read_holds_up_no_answer_and_no_end() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |mut stream, _| async move {
        while !read_head(&mut stream).await.is_empty() {
            write(&mut stream, "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await;
        }
    })
    .await;
    for component in components() {
        let (reader, writer) = pipe().unwrap();
        let mut host = origin::setup(&authority, &[&origin]).component(component).stderr(writer).start();
        let mut client = client::tls(host.address).await;
        // Two lines each: more than a pipe holds.
        for _ in 0..700 {
            client.send(client::request_kept_alive("/ready")).await;
            assert_eq!(client.answer().await.status, 503);
        }
        assert_eq!(client::get(host.address, "/nope").await.status, 404);
        host.signal(Signal::TERM);
        drop(client);
        assert_eq!(host.ended().await.code(), Some(0));
        drop(reader);
    }
}

#[tokio::test]
async fn the_last_lines_outlive_the_second_signal() {
    let authority = Authority::new();
    let origin = Origin::silent(&authority).await;
    let (mut reader, writer) = pipe().unwrap();
    let mut host = origin::setup(&authority, &[&origin]).stderr(writer).start();
    let mut client = client::tls(host.address).await;
    client.send(client::request("GET", "/ready")).await;
    crate::process::until("the request upstream", || origin.connections() == 1).await;
    host.signal(Signal::TERM);
    while TcpStream::connect(host.address).is_ok() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(128 + 15));
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(said.contains("messageweave-lb: stopping"), "{said}");
}

#[test]
fn where_it_listens_comes_before_the_line_of_any_request() {
    for _ in 0..8 {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let done = Arc::clone(&done);
                std::thread::spawn(move || {
                    while !done.load(Ordering::SeqCst) {
                        // Refused until the host listens.
                        let Ok(mut stream) = TcpStream::connect(address) else { continue };
                        let _ = stream.write_all(client::request("GET", "/nope").as_bytes());
                        let _ = stream.read_to_end(&mut Vec::new());
                    }
                })
            })
            .collect();
        // It reads the first line as the address.
        let host = Setup::new().flag("--listen", address.to_string()).switch("--access-log").start();
        done.store(true, Ordering::SeqCst);
        assert_eq!(host.address, address);
        clients.into_iter().for_each(|client| client.join().unwrap());
    }
}

/// How a command of its own ends, and what it says on standard error.
fn run(arguments: &[&str], stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_messageweave-lb"));
    command.env_clear().env("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#).args(arguments);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let output = command.stdout(stdout).stderr(stderr).spawn().unwrap().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_command_whose_work_nobody_takes_has_failed() {
    for command in ["check", "envoy-config"] {
        for stdout in [full().into(), gone()] {
            let (code, said) = run(&[command], stdout, Stdio::piped());
            assert_eq!(code, Some(1), "{command}: {said}");
            assert!(said.starts_with("messageweave-lb: standard output: ") && said.lines().count() == 1);
        }
    }
}

#[test]
fn a_command_that_fails_says_so_by_its_code_where_nobody_takes_its_text() {
    for stderr in [full().into(), gone()] {
        assert_eq!(run(&["check", "--env", "LB_MAX_ATTEMPTS=no"], Stdio::piped(), stderr).0, Some(1));
    }
    for command in ["check", "envoy-config", "envoy"] {
        for stderr in [full().into(), gone()] {
            assert_eq!(run(&[command, "--env", "NO=1"], Stdio::piped(), stderr).0, Some(1), "{command}");
        }
    }
}
