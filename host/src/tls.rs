//! The certificate that clients see: the operator's, or one for localhost made at start.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// The operator's files.
    pub(crate) fn read(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let failed = |error| TlsError::Certificate(cert.to_owned(), error);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(cert).map_err(failed)?.collect();
        let chain = chain.map_err(failed)?;
        if chain.is_empty() {
            return Err(failed(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::Key(key.to_owned(), error))?;
        Ok(Self { chain, key })
    }

    /// A certificate that signs itself, for this machine alone.
    pub(crate) fn of_localhost() -> Result<Self, TlsError> {
        let names =
            ["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), Ipv6Addr::LOCALHOST.to_string()];
        let made = rcgen::generate_simple_self_signed(names).map_err(TlsError::Made)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        Ok(Self { chain: vec![made.cert.into()], key })
    }

    pub(crate) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.chain.first()
    }

    /// The TLS configuration of a server with this certificate.
    pub(crate) fn into_server(self, alpn: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Refused)?
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)
            .map_err(TlsError::Refused)?;
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// Why there is no usable certificate.
#[derive(Debug)]
pub(crate) enum TlsError {
    Certificate(PathBuf, pem::Error),
    Key(PathBuf, pem::Error),
    Refused(rustls::Error),
    Made(rcgen::Error),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(file, error) => write!(f, "--cert {}: {error}", file.display()),
            Self::Key(file, error) => write!(f, "--key {}: {error}", file.display()),
            Self::Refused(error) => write!(f, "--cert and --key: {error}"),
            Self::Made(error) => write!(f, "making a certificate for localhost: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}
