//! workerd, the runtime of Cloudflare Workers, with the policy as a Worker in JavaScript.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Site, tool};
use crate::Fallible;

pub(super) fn binary() -> PathBuf {
    tool("WORKERD", "workerd")
}

pub(super) fn command(site: &Site<'_>) -> Fallible<Command> {
    let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("worker/worker.js");
    let script =
        std::fs::read_to_string(&worker).map_err(|error| format!("{}: {error}", worker.display()))?;
    site.write("worker.js", &script)?;
    let file = site.write("config.capnp", &configuration(site)?)?;
    let mut command = Command::new(binary());
    command.env_clear().arg("serve").arg(file);
    Ok(command)
}

fn configuration(site: &Site<'_>) -> Fallible<String> {
    let ca = std::fs::read_to_string(&site.origins.ca).map_err(|error| error.to_string())?;
    // A text of Cap'n Proto is quoted as JSON's is.
    let [ca, origins] = [ca, site.origins.json()].map(|text| serde_json::Value::from(text).to_string());
    let address = site.address;
    Ok(format!(
        "using Workerd = import \"/workerd/workerd.capnp\";
const config :Workerd.Config = (
  services = [
    (name = \"main\", worker = .balancer),
    (name = \"internet\", network = (
      allow = [\"public\", \"private\"],
      tlsOptions = (trustBrowserCas = false, trustedCertificates = [{ca}])
    )),
  ],
  sockets = [(name = \"http\", address = \"{address}\", http = (), service = \"main\")],
);
const balancer :Workerd.Worker = (
  modules = [(name = \"worker.js\", esModule = embed \"worker.js\")],
  compatibilityDate = \"2026-01-01\",
  bindings = [
    (name = \"BACKEND_ORIGINS_JSON\", text = {origins}),
    (name = \"LB_TRUST_FORWARDED_PROTO\", text = \"1\"),
  ],
);
"
    ))
}
