//! Listening sockets and the loop that accepts from them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::connection;
use crate::serve::Host;

/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 1024;
/// Pause after a failed accept: most often the process is out of file descriptors.
const BREATHER: Duration = Duration::from_millis(50);
/// A client that acknowledges nothing of an answer for this long is gone. It counts bytes on the
/// wire, so that a slow reader is not mistaken for one.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How soon the system starts asking whether a silent client is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Binds every address, or none.
pub(crate) fn bind_all(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, (SocketAddr, io::Error)> {
    let bound = addresses.iter().map(|address| {
        // As nginx's `ipv6only` does, but only where the other half is taken by an address of its
        // own: `[::]` alone serves both families.
        let v4 = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
        let only_v6 = address.port() != 0 && addresses.iter().any(v4);
        bind(*address, only_v6).map_err(|error| (*address, error))
    });
    bound.collect()
}

fn bind(address: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    // A restart need not wait for the connections of the process before.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts until the host stops. A connection beyond the limit waits for a place before its first
/// byte is read, and those behind it wait in the system's queue.
pub(crate) async fn accept(host: Arc<Host>, listener: TcpListener) {
    let mut stopping = host.stopping();
    loop {
        let next = async {
            let (stream, _) = listener.accept().await?;
            Ok::<_, io::Error>((stream, host.place().await))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = stopping.wait() => return,
        };
        match accepted {
            Ok((stream, place)) => {
                prepare(&stream);
                give(&host, stream, place);
            }
            Err(_) => tokio::time::sleep(BREATHER).await,
        }
    }
}

/// Gives a connection to a core, with its place.
fn give(host: &Arc<Host>, stream: TcpStream, place: Option<OwnedSemaphorePermit>) {
    let (host, cores) = (Arc::clone(host), host.cores().clone());
    // The event loop of a socket is that of the thread that makes it.
    let stream = stream.into_std();
    cores.serve(async move {
        if let Ok(stream) = stream.and_then(TcpStream::from_std) {
            connection::serve(host, stream).await;
        }
        drop(place);
    });
}

/// Options that only improve the connection: where one is refused it goes on without.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE));
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(SEND_TIMEOUT));
}
