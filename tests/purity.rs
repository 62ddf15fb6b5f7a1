//! The policy is pure, checked where it can't be hidden: what a WebAssembly module needs of its
//! host stands in its import section.
//!
//! On `wasm32-unknown-unknown` that section is empty, but there `std` answers a forbidden call by a
//! panic or a constant, so that only a dependency with imports of its own could fail the test. On
//! `wasm32-wasip1` `std` really asks the host: a clock shows as `clock_time_get`, a random hash map
//! as `random_get`, a file as `path_open`. What remains there is what `std` links for a panic, and
//! the environment hides behind it (`RUST_BACKTRACE`): that one is clippy's alone (`clippy.toml`).
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "builds and reads a file; the policy itself does neither"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use wasmparser::{Parser, Payload};

/// The message and the end of a panic, and how much of it to tell.
const PANIC: [&str; 4] = [
    "wasi_snapshot_preview1::environ_get",
    "wasi_snapshot_preview1::environ_sizes_get",
    "wasi_snapshot_preview1::fd_write",
    "wasi_snapshot_preview1::proc_exit",
];

#[test]
fn the_policy_imports_nothing() {
    assert_eq!(imports_of(&build("wasm32-unknown-unknown")), BTreeSet::new());
}

#[test]
fn the_policy_asks_a_host_for_no_clock_no_randomness_and_no_io() {
    let needed = PANIC.iter().map(|name| (*name).to_owned()).collect();
    let beyond: Vec<_> = imports_of(&build("wasm32-wasip1")).difference(&needed).cloned().collect();
    assert!(beyond.is_empty(), "the policy asks the host for {beyond:?}");
}

/// Builds `tests/purity` beside the ordinary builds, so that neither waits for the other's lock.
fn build(target: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/purity");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--locked", "--package", "messageweave-lb-purity", "--profile", "wasm"])
        .args(["--target", target, "--target-dir"])
        .arg(&folder)
        .status()
        .unwrap();
    assert!(status.success(), "the build failed; is the target there? `rustup target add {target}`");
    folder.join(target).join("wasm/messageweave_lb_purity.wasm")
}

fn imports_of(module: &Path) -> BTreeSet<String> {
    let bytes = fs::read(module).unwrap();
    let mut imports = BTreeSet::new();
    let mut exports = Vec::new();
    for payload in Parser::new(0).parse_all(&bytes) {
        match payload.unwrap() {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    imports.insert(format!("{}::{}", import.module, import.name));
                }
            }
            Payload::ExportSection(section) => {
                exports.extend(section.into_iter().map(|export| export.unwrap().name.to_owned()));
            }
            _ => {}
        }
    }
    assert!(exports.iter().any(|name| name == "drive"), "the policy is not in the module");
    assert!(bytes.len() > 100_000, "the policy was optimised away: {} bytes are left", bytes.len());
    imports
}
