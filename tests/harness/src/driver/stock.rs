//! The component on the stock `wasmtime serve`: it trusts the public roots alone and says http of
//! every request, so only the balancer's own answers can be had there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;

use super::component::Component;
use super::host::{Host, Launch};
use super::world::World;
use super::{Driver, sockets};
use crate::case::Case;
use crate::check::{Difference, differences};
use crate::evidence::Evidence;
use crate::origin::Network;

/// The driver `stock`, for cases of its own tests.
pub struct Stock {
    binary: PathBuf,
    world: World,
    /// Only for what it knows of TLS; its host is not started.
    component: Component,
}

const CASE: Duration = Duration::from_secs(120);

impl Stock {
    /// The CLI that `WASMTIME` names, or the one that the Makefile installs.
    ///
    /// # Errors
    /// When it is not there.
    pub fn new(world: World, folder: &Path) -> Result<Self, String> {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/wasmtime");
        let binary = std::env::var_os("WASMTIME").map_or(installed, PathBuf::from);
        if !binary.is_file() {
            let binary = binary.display();
            return Err(format!(
                "the stock wasmtime is missing: run `make .tools/wasmtime`, or name one with \
                 WASMTIME (looked for {binary})"
            ));
        }
        Ok(Self { binary, world, component: Component::new(world, folder)? })
    }

    fn launch(&self, case: &Case) -> Launch {
        let mut arguments: Vec<String> =
            ["serve", "-Scli", "--addr", "127.0.0.1:0"].map(str::to_owned).into();
        for (name, value) in &case.env {
            arguments.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        arguments.push(self.world.file().display().to_string());
        Launch {
            binary: self.binary.clone(),
            arguments,
            environment: Default::default(),
            ready: "Serving HTTP on http://",
        }
    }

    async fn play(&self, case: &Case) -> Result<Evidence, String> {
        let network = Network::start(case, self.component.authority()).await?;
        let host = Host::start(&self.launch(case)).await?;
        let target = self.component.target(&host);
        let mut evidence = Evidence::default();
        sockets::play(case, &target, &network, &mut evidence).await;
        evidence.noise = host.printed().join("\n");
        sockets::end(network, &mut evidence).await;
        Ok(evidence)
    }
}

impl Driver for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn differences(&self, case: &Case) -> Vec<Difference> {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return vec![Difference::of_the_run(error.to_string())],
        };
        match runtime.block_on(async { timeout(CASE, self.play(case)).await }) {
            Ok(Ok(evidence)) => differences(case, &evidence),
            Ok(Err(fault)) => vec![Difference::of_the_run(fault)],
            Err(_) => vec![Difference::of_the_run("the case overran the driver's bound")],
        }
    }
}
