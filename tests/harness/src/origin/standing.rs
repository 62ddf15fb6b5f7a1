//! An origin that outlives its process: it goes down and comes up again on the same port.

use std::net::SocketAddr;
use std::sync::Arc;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::connection::{Listening, accept};
use super::network::host_and_port;
use super::{Behaviour, CertificateAuthority, Recorder, Resolve};
use crate::case::{ConnectionFault, Protocol};

/// A port that stays the origin's, and what listens on it now.
pub struct Standing {
    url: String,
    version: Protocol,
    address: SocketAddr,
    /// Bound and not listening: whoever connects while the origin is down is refused.
    _held: Socket,
    process: JoinSet<()>,
}

impl Standing {
    /// Takes a free loopback port; the origin is down.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(url: &str, version: Protocol) -> Result<Self, String> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let held = bound(any).map_err(|error| error.to_string())?;
        let address = held.local_addr().ok().and_then(|address| address.as_socket()).ok_or("no IP socket")?;
        Ok(Self { url: url.to_owned(), version, address, _held: held, process: JoinSet::new() })
    }

    /// Where the balancer has to go for it.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn resolve(&self) -> Result<Resolve, String> {
        let (host, port) = host_and_port(&self.url)?;
        Ok(Resolve { host, port, address: self.address })
    }

    /// Begins to listen. Of the bad certificates only that of `fault` is at hand.
    ///
    /// # Errors
    /// When the port or a certificate is not to be had.
    pub fn up(
        &mut self,
        authority: &CertificateAuthority,
        fault: Option<ConnectionFault>,
        behaviour: Arc<dyn Behaviour>,
        recorder: Arc<Recorder>,
    ) -> Result<(), String> {
        let faults = fault.into_iter().collect::<Vec<_>>();
        let listening = Listening::new(&self.url, self.version, &faults, authority, behaviour, recorder)?;
        let listener = listen(self.address).map_err(|error| format!("{}: {error}", self.address))?;
        self.process.spawn(accept(listener, Arc::new(listening)));
        Ok(())
    }

    /// Closes the listening socket and every connection, whatever is on it, as a process that is killed.
    pub async fn down(&mut self) {
        self.process.shutdown().await;
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = bound(address)?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

fn bound(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
