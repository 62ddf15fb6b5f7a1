//! Mock origins: each connection is played by a function of the test.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::process::{Host, Setup};
use crate::trust::Authority;

pub(crate) type Stream = TlsStream<TcpStream>;

/// An origin `https://NAME` with a certificate that the host trusts.
pub(crate) struct Origin {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Origin {
    /// Plays every TCP connection by `play`, which gets its number from 0.
    pub(crate) async fn raw<F>(
        name: &'static str,
        play: impl Fn(TcpStream, usize) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // An answer is on its way before the close that may follow it.
                stream.set_nodelay(true).unwrap();
                let number = counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(play(stream, number));
            }
        });
        Self { name, address, connections }
    }

    /// Plays every connection after its TLS handshake.
    pub(crate) async fn new<F>(
        authority: &Authority,
        name: &'static str,
        play: impl Fn(Stream, usize) -> F + Clone + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let acceptor = TlsAcceptor::from(authority.server(name, &[]));
        Self::raw(name, move |stream, number| {
            let (acceptor, play) = (acceptor.clone(), play.clone());
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    play(stream, number).await;
                }
            }
        })
        .await
    }

    /// Takes one request of each connection and never answers it.
    pub(crate) async fn silent(authority: &Authority) -> Self {
        Self::new(authority, "a.example", |mut stream, _| async move {
            read_head(&mut stream).await;
            std::future::pending::<()>().await;
        })
        .await
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A host in front of these origins, in order.
pub(crate) fn setup(authority: &Authority, origins: &[&Origin]) -> Setup {
    let mut setup = Setup::new();
    authority.write(&setup.file("ca.pem"));
    let urls: Vec<_> = origins.iter().map(|origin| format!("\"https://{}\"", origin.name)).collect();
    let ca = setup.file("ca.pem");
    setup = setup.flag("--ca", ca).flag("--env", format!("BACKEND_ORIGINS_JSON=[{}]", urls.join(",")));
    origins.iter().fold(setup, |setup, origin| {
        setup.flag("--resolve", format!("{}:443={}", origin.name, origin.address))
    })
}

pub(crate) fn host(authority: &Authority, origins: &[&Origin]) -> Host {
    setup(authority, origins).start()
}

/// Reads one request head and returns it.
pub(crate) async fn read_head(stream: &mut Stream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => return String::new(),
        }
    }
    String::from_utf8(bytes).unwrap()
}

pub(crate) async fn write(stream: &mut Stream, bytes: impl AsRef<[u8]>) {
    stream.write_all(bytes.as_ref()).await.unwrap();
    stream.flush().await.unwrap();
}

/// Answers every request on the connection with this text.
pub(crate) async fn keep_answering(mut stream: Stream, text: &'static str) {
    while !read_head(&mut stream).await.is_empty() {
        write(&mut stream, ok(text)).await;
    }
}

pub(crate) fn ok(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}
