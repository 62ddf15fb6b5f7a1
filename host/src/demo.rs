//! `--demo`: two small MessageWeave-like backends on this machine, so that a newcomer sees
//! forwarding and failover with nothing else installed. Their certificate is made at start and
//! trusted by the balancer alone.

mod backend;

use std::net::{Ipv4Addr, SocketAddr};

use messageweave_lb::policy::settings::BACKEND_ORIGINS_JSON;
use rustls_pki_types::CertificateDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::arguments::{EnvironmentArguments, ServeArguments};
use crate::environment::Variables;
use crate::journal::{self, Level};
use crate::tls::Identity;
use backend::{Backend, STOP_PATH};

const NAMES: [&str; 2] = ["amber", "blue"];
/// Short, so that a stopped backend soon shows in the health view.
const HEALTH_TTL_MS: &str = "1000";

pub(crate) struct Demo {
    certificate: CertificateDer<'static>,
    ports: Vec<u16>,
}

impl Demo {
    /// Starts the backends if they are asked for.
    pub(crate) async fn of(arguments: &ServeArguments) -> Result<Option<Self>, String> {
        if !arguments.demo {
            return Ok(None);
        }
        refuse_given_origins(&arguments.environment)?;
        Self::start().await.map(Some).map_err(|error| format!("--demo: {error}"))
    }

    async fn start() -> Result<Self, Box<dyn std::error::Error>> {
        let identity = Identity::of_localhost()?;
        let certificate = identity.certificate().cloned().ok_or("no certificate")?;
        let acceptor = TlsAcceptor::from(identity.into_server(&[b"http/1.1"])?);
        let mut ports = Vec::new();
        for name in NAMES {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            ports.push(listener.local_addr()?.port());
            tokio::spawn(Backend::new(name).run(listener, acceptor.clone()));
        }
        Ok(Self { certificate, ports })
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The variables of a demonstration: its origins, and a health view that keeps up. Origins of the
    /// process environment give way, and one line says so; those of a flag or a file are an error.
    pub(crate) fn configure(
        &self,
        variables: &mut Variables,
        arguments: &EnvironmentArguments,
    ) -> Result<(), String> {
        refuse_given_origins(arguments)?;
        if variables.get(BACKEND_ORIGINS_JSON).is_some() {
            let text = format_args!("--demo: {BACKEND_ORIGINS_JSON} of the environment is not used");
            journal::say(Level::Warn, &text);
        }
        let origins: Vec<_> = self.ports.iter().map(|port| format!("\"https://localhost:{port}\"")).collect();
        variables.set(BACKEND_ORIGINS_JSON, &format!("[{}]", origins.join(",")));
        if variables.get("LB_HEALTH_TTL_MS").is_none() {
            variables.set("LB_HEALTH_TTL_MS", HEALTH_TTL_MS);
        }
        Ok(())
    }

    /// Four lines to paste.
    pub(crate) fn invitation(&self, listening: SocketAddr) -> String {
        let port = listening.port();
        let host = match listening.ip() {
            ip if ip.is_unspecified() => format!("localhost:{port}"),
            _ => listening.to_string(),
        };
        let victim = self.ports.first().copied().unwrap_or_default();
        format!(
            "\n\
             Two demo backends are up. Try, in another terminal (-k: the certificate is made at start):\n\
             \x20 a page from one of them   curl -ki https://{host}/\n\
             \x20 plain http goes to https  curl -i 'http://{host}/api/status?a=1'\n\
             \x20 the health of both        curl -k https://{host}/healthz-worker\n\
             \x20 stop one, all still work  curl -kX POST https://127.0.0.1:{victim}{STOP_PATH}; \
             for i in 1 2 3 4; do curl -ksi https://{host}/api/status; done\n\n"
        )
    }
}

fn refuse_given_origins(arguments: &EnvironmentArguments) -> Result<(), String> {
    let given = Variables::given(arguments).map_err(|error| error.to_string())?;
    match given.get(BACKEND_ORIGINS_JSON) {
        Some(_) => Err(format!("--demo brings its own {BACKEND_ORIGINS_JSON}: drop one of the two")),
        None => Ok(()),
    }
}
