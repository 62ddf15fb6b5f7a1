//! The two components that the Makefile builds, by the world that they are made for.

use std::path::{Path, PathBuf};

/// A component, and with it a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `wasi:http` 0.2, one request per instance at a time: the driver `component`.
    Proxy,
    /// `wasi:http` 0.3, many requests per instance at once: the driver `service`.
    Service,
}

impl World {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Proxy, Self::Service];

    /// The name in `exceptions.toml`.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::Proxy => "component",
            Self::Service => "service",
        }
    }

    /// The component's file.
    #[must_use]
    pub fn file(self) -> PathBuf {
        root().join(match self {
            Self::Proxy => "dist/messageweave-lb.wasm",
            Self::Service => "dist/messageweave-lb-p3.wasm",
        })
    }
}

/// The native host as cargo builds it, or the one that `MESSAGEWEAVE_LB` names.
#[must_use]
pub fn host_binary() -> PathBuf {
    let built = root().join("target/release/messageweave-lb");
    std::env::var_os("MESSAGEWEAVE_LB").map_or(built, PathBuf::from)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
