//! The modules that the Makefile builds, by the world that they are made for.

use std::path::{Path, PathBuf};

/// A module, and with it a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `wasi:http` 0.2, one request per instance at a time: the driver `component`.
    Proxy,
    /// `wasi:http` 0.3, many requests per instance at once: the driver `service`.
    Service,
    /// proxy-wasm, in Envoy: the driver `envoy`.
    Envoy,
}

impl World {
    /// The components of the native host.
    pub const ALL: [Self; 2] = [Self::Proxy, Self::Service];

    /// The name in `exceptions.toml`.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::Proxy => "component",
            Self::Service => "service",
            Self::Envoy => "envoy",
        }
    }

    /// The command of the host that runs it, and the flag that names its file.
    pub(super) const fn command(self) -> (&'static str, &'static str) {
        match self {
            Self::Proxy | Self::Service => ("serve", "--component"),
            Self::Envoy => ("envoy", "--filter"),
        }
    }

    /// The module's file.
    #[must_use]
    pub fn file(self) -> PathBuf {
        root().join(match self {
            Self::Proxy => "dist/messageweave-lb.wasm",
            Self::Service => "dist/messageweave-lb-p3.wasm",
            Self::Envoy => "dist/messageweave-lb-envoy.wasm",
        })
    }
}

/// The native host as cargo builds it, or the one that `MESSAGEWEAVE_LB` names.
#[must_use]
pub fn host_binary() -> PathBuf {
    let built = root().join("target/release/messageweave-lb");
    std::env::var_os("MESSAGEWEAVE_LB").map_or(built, PathBuf::from)
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
