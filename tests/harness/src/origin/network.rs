//! The mock origins of one case, each on a loopback port of its own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;

use super::connection::{Listening, accept};
use super::{CertificateAuthority, Recorder, Script, unused_turns};
use crate::case::{Case, Origin, Unreached};

/// Connections of the host to `host:port` go to `address`.
#[derive(Clone, Debug)]
pub struct Resolve {
    /// The name or IP literal of an origin, brackets included.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where the mock listens.
    pub address: SocketAddr,
}

/// The running mock origins of one case. Dropping it ends them.
pub struct Network {
    /// Where the host has to go for each origin.
    pub resolves: Vec<Resolve>,
    /// What they have seen.
    pub recorder: Arc<Recorder>,
    scripts: Vec<(String, Arc<Mutex<Script>>)>,
    listeners: JoinSet<()>,
    /// Bound ports on which nobody listens.
    _closed: Vec<Socket>,
}

/// A multicast address: connecting a stream to it is `ENETUNREACH` at once, and no packet leaves.
pub(crate) const UNREACHABLE: ([u8; 4], u16) = ([224, 0, 0, 1], 9);

impl Network {
    /// Starts the origins of a case.
    ///
    /// # Errors
    /// When a port or a certificate is not to be had.
    pub async fn start(case: &Case, authority: &CertificateAuthority) -> Result<Self, String> {
        let mut network = Self {
            resolves: Vec::new(),
            recorder: Arc::default(),
            scripts: Vec::new(),
            listeners: JoinSet::new(),
            _closed: Vec::new(),
        };
        for origin in &case.origin {
            let address = match origin.connect {
                None => network.listen(origin, authority).await?,
                Some(Unreached::Refused) => network.closed_port().map_err(|e| e.to_string())?,
                Some(Unreached::Unreachable) => SocketAddr::from(UNREACHABLE),
                Some(Unreached::Unresolvable) => continue,
            };
            let (host, port) = host_and_port(&origin.url)?;
            network.resolves.push(Resolve { host, port, address });
        }
        Ok(network)
    }

    /// Everything that fails the case whatever it expects, once it is over.
    pub async fn finish(self) -> Vec<String> {
        let mut complaints = self.recorder.complaints();
        complaints.extend(self.unused());
        complaints.extend(self.stop().await);
        complaints
    }

    /// The turns that were not used so far.
    pub(crate) fn unused(&self) -> Vec<String> {
        let script = |script: &Mutex<Script>| script.lock().unwrap_or_else(PoisonError::into_inner).unused();
        self.scripts.iter().filter_map(|(url, turns)| unused_turns(url, script(turns))).collect()
    }

    /// Ends the origins; which of them had panicked.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        let mut panics = Vec::new();
        self.listeners.abort_all();
        while let Some(joined) = self.listeners.join_next().await {
            if let Err(error) = joined
                && error.is_panic()
            {
                panics.push(format!("a mock origin panicked: {error}"));
            }
        }
        panics
    }

    async fn listen(
        &mut self,
        origin: &Origin,
        authority: &CertificateAuthority,
    ) -> Result<SocketAddr, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let script = Arc::new(Mutex::new(Script::new(origin)));
        self.scripts.push((origin.url.clone(), script.clone()));
        let faults: Vec<_> = origin.script.iter().filter_map(|turn| turn.connection).collect();
        let listening =
            Listening::new(&origin.url, origin.version, &faults, authority, script, self.recorder.clone())?;
        self.listeners.spawn(accept(listener, Arc::new(listening)));
        Ok(address)
    }

    fn closed_port(&mut self) -> std::io::Result<SocketAddr> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        let address = socket.local_addr()?.as_socket();
        self._closed.push(socket);
        address.ok_or_else(|| std::io::Error::other("no IP socket"))
    }
}

pub(super) fn host_and_port(url: &str) -> Result<(String, u16), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let host = url.host_str().ok_or("an origin without a host")?.to_owned();
    Ok((host, url.port_or_known_default().unwrap_or(443)))
}
