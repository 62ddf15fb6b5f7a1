//! Clients that say exactly what a test wants said.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::process::PATIENCE;
use crate::trust;

/// What came back until the connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether a chunked body came to its last chunk.
    pub(crate) fn ends_whole(&self) -> bool {
        self.body.ends_with(b"0\r\n\r\n")
    }

    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }
}

/// A connection over plain http or TLS.
pub(crate) struct Client<S>(pub(crate) S);

pub(crate) async fn plain(address: SocketAddr) -> Client<TcpStream> {
    Client(TcpStream::connect(address).await.unwrap())
}

pub(crate) async fn tls(address: SocketAddr) -> Client<TlsStream<TcpStream>> {
    Client(handshake(address, &["http/1.1"]).await)
}

pub(crate) async fn handshake(address: SocketAddr, alpn: &[&str]) -> TlsStream<TcpStream> {
    let tcp = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(trust::careless(alpn));
    connector.connect("localhost".try_into().unwrap(), tcp).await.unwrap()
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Everything until the other side ends; a reset counts as an end.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await;
        let _reset_or_missing_close_notify = read.expect("the host kept the connection open");
        bytes
    }

    pub(crate) async fn last_answer(&mut self) -> Answer {
        Answer::parse(&self.rest().await)
    }

    /// One answer with content-length on a connection that goes on.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                let answer = Answer::parse(&bytes);
                let length: usize = answer.header("content-length").unwrap().parse().unwrap();
                if bytes.len() == end + 4 + length {
                    return answer;
                }
            }
            let read = timeout(PATIENCE, self.0.read_buf(&mut bytes)).await;
            let length = read.expect("no answer").unwrap();
            assert!(length > 0, "ended early: {:?}", String::from_utf8_lossy(&bytes));
        }
    }

    /// Reads until `text` has come.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains(text) {
            let read = timeout(PATIENCE, self.0.read_buf(&mut bytes)).await;
            assert!(read.expect("no answer").unwrap() > 0, "ended before {text:?}");
        }
        String::from_utf8(bytes).unwrap()
    }

    /// That nothing comes for a while.
    pub(crate) async fn hears_nothing_for(&mut self, time: Duration) {
        let read = timeout(time, self.0.read_u8()).await;
        assert!(read.is_err(), "came: {read:?}");
    }
}

/// `GET` over TLS on a connection of its own.
pub(crate) async fn get(address: SocketAddr, target: &str) -> Answer {
    let mut client = tls(address).await;
    client.send(request("GET", target)).await;
    client.last_answer().await
}

pub(crate) fn request(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nhost: lb.example\r\nconnection: close\r\n\r\n")
}

pub(crate) fn request_kept_alive(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: lb.example\r\n\r\n")
}
