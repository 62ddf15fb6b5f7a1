//! Our host with either component.

use std::path::PathBuf;
use std::process::Command;

use messageweave_lb_harness::driver::{World, host_binary};

use super::{Contender, Site};
use crate::machine;

fn component(contender: Contender) -> PathBuf {
    match contender {
        Contender::Service | Contender::Alone => World::Service.file(),
        _ => World::Proxy.file(),
    }
}

pub(super) fn files(contender: Contender) -> Vec<PathBuf> {
    vec![host_binary(), component(contender)]
}

pub(super) fn command(contender: Contender, site: &Site<'_>) -> Command {
    let mut command = Command::new(host_binary());
    command.env_clear().arg("serve").arg("--component").arg(component(contender));
    for name in ["HOME", "XDG_CACHE_HOME", "TOKIO_WORKER_THREADS"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.arg("--listen").arg(site.address.to_string()).arg("--ca").arg(&site.origins.ca);
    command.args(site.resolves());
    command.arg("--env").arg(format!("BACKEND_ORIGINS_JSON={}", site.origins.json()));
    command.args(["--env", "LB_TRUST_FORWARDED_PROTO=1"]);
    if contender == Contender::Service {
        command.arg("--instances").arg(machine::cores().to_string());
    }
    command
}
