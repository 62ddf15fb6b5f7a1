//! Two https origins that cost as little as they can: HTTP/1.1 on kept-alive connections, answers made
//! beforehand. They check what comes in: a request that a balancer changed is answered with 400, and
//! that fails the run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use messageweave_lb_harness::origin::CertificateAuthority;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::Fallible;
use crate::work::{FAILOVER_PATH, POST_PATH, SMALL, large, upload};

/// The running origins; a thread of their own serves both. Dropping it ends them.
pub struct Origins {
    /// Where they listen, the failing one first.
    pub addresses: [SocketAddr; 2],
    /// The same contents over plain http, for the measure of the load generator itself.
    pub plain: SocketAddr,
    /// The certificate of the authority that they are to be trusted by (PEM).
    pub ca: PathBuf,
    _runtime: Runtime,
}

/// What an origin sends, made once.
struct Answers {
    small: Vec<u8>,
    large: Vec<u8>,
    upload: Vec<u8>,
}

const FAILED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy";
const WRONG: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";

impl Origins {
    /// Starts them; the certificate goes to a file in that folder.
    ///
    /// # Errors
    /// When no socket can be opened or the file cannot be written.
    pub fn start(folder: &Path) -> Fallible<Self> {
        let authority = CertificateAuthority::new()?;
        let ca = folder.join("ca.pem");
        std::fs::write(&ca, authority.pem()).map_err(|error| format!("{}: {error}", ca.display()))?;
        let acceptor = TlsAcceptor::from(Arc::new(server(&authority)?));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(text)?;
        let answers = Arc::new(Answers::new());
        let [failing, sound, plain] = runtime
            .block_on(async { Ok::<_, String>([listen().await?, listen().await?, listen().await?]) })?;
        let addresses = [failing.local_addr().map_err(text)?, sound.local_addr().map_err(text)?];
        let plain_address = plain.local_addr().map_err(text)?;
        runtime.spawn(accept(failing, Some(acceptor.clone()), Arc::clone(&answers), true));
        runtime.spawn(accept(sound, Some(acceptor), Arc::clone(&answers), false));
        runtime.spawn(accept(plain, None, answers, false));
        Ok(Self { addresses, plain: plain_address, ca, _runtime: runtime })
    }

    /// Their URLs, as `BACKEND_ORIGINS_JSON` has them.
    #[must_use]
    pub fn json(&self) -> String {
        let [failing, sound] = self.addresses.map(|address| address.port());
        format!("[\"https://localhost:{failing}\",\"https://localhost:{sound}\"]")
    }
}

fn server(authority: &CertificateAuthority) -> Fallible<ServerConfig> {
    let (certificate, key) = authority.issue_pem("localhost")?;
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(text)?];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(text)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(text)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(text)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

async fn listen() -> Fallible<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await.map_err(text)
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, answers: Arc<Answers>, fails: bool) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, answers) = (tls.clone(), Arc::clone(&answers));
        tokio::spawn(async move { serve(stream, tls, &answers, fails).await });
    }
}

/// Until the connection ends; how does not matter here, since the client's answer tells.
async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, answers: &Answers, fails: bool) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => answers.play(stream, fails).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                answers.play(stream, fails).await;
            }
        }
    }
}

impl Answers {
    fn new() -> Self {
        Self { small: answer(SMALL), large: answer(&large()), upload: upload() }
    }

    async fn play(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, fails: bool) {
        let mut buffer = Vec::with_capacity(32 * 1024);
        loop {
            let Some((length, answer)) = self.to(&buffer, fails) else {
                match stream.read_buf(&mut buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => continue,
                }
            };
            buffer.drain(..length);
            if stream.write_all(answer).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }

    /// The answer to the request at the beginning of the buffer, and its length, once it is whole.
    fn to(&self, buffer: &[u8], fails: bool) -> Option<(usize, &[u8])> {
        if buffer.is_empty() {
            return None;
        }
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut fields);
        let head = match request.parse(buffer) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) => return None,
            Err(_) => return Some((buffer.len(), WRONG)),
        };
        let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let (length, body) = match body(request.headers, buffer.get(head..)?) {
            Body::Whole(length, body) => (head + length, body),
            Body::Partial => return None,
            Body::Malformed => return Some((buffer.len(), WRONG)),
        };
        let answer = match (method, path) {
            ("GET", "/ready") if body.is_empty() => &self.small,
            ("GET", "/") if body.is_empty() => &self.large,
            ("POST", FAILOVER_PATH) if fails && body == self.upload => FAILED,
            ("POST", POST_PATH | FAILOVER_PATH) if body == self.upload => &self.small,
            _ => WRONG,
        };
        Some((length, answer))
    }
}

enum Body {
    Whole(usize, Vec<u8>),
    Partial,
    Malformed,
}

/// RFC 9112 section 6.3. A balancer may turn a length into chunks.
fn body(fields: &[httparse::Header<'_>], rest: &[u8]) -> Body {
    let field = |name: &str| fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    if field("transfer-encoding").is_some() {
        return chunked(rest);
    }
    let Some(length) = field("content-length") else { return Body::Whole(0, Vec::new()) };
    let length = std::str::from_utf8(length.value).ok().and_then(|length| length.parse().ok());
    match length.map(|length: usize| (length, rest.get(..length))) {
        Some((length, Some(body))) => Body::Whole(length, body.to_vec()),
        Some((_, None)) => Body::Partial,
        None => Body::Malformed,
    }
}

/// RFC 9112 section 7.1, without trailers.
fn chunked(rest: &[u8]) -> Body {
    let (mut at, mut body) = (0, Vec::new());
    loop {
        let (line, size) = match httparse::parse_chunk_size(rest.get(at..).unwrap_or_default()) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Body::Partial,
            Err(_) => return Body::Malformed,
        };
        let (start, size) = (at + line, usize::try_from(size).unwrap_or(usize::MAX));
        let end = start.saturating_add(size);
        match rest.get(start..end.saturating_add(2)) {
            None => return Body::Partial,
            Some(_) if size == 0 => return Body::Whole(end + 2, body),
            Some(_) => body.extend_from_slice(rest.get(start..end).unwrap_or_default()),
        }
        at = end + 2;
    }
}

fn answer(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
