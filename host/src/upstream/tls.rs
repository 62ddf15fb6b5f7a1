//! Whom the host trusts as an origin: the public roots, and the certificates of `--ca`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, TrustAnchor};

/// The public roots, and the certificates of the files and beside them, each once and in an order of their own: two
/// lists that trust the same are equal.
pub(crate) fn anchors(
    files: &[PathBuf],
    further: &[CertificateDer<'static>],
) -> Result<Vec<TrustAnchor<'static>>, TrustError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for file in files {
        add_file(&mut roots, file)?;
    }
    for certificate in further {
        roots.add(certificate.clone()).map_err(TrustError::Refused)?;
    }
    let mut anchors = roots.roots;
    anchors.sort_by(|a, b| {
        a.subject.cmp(&b.subject).then_with(|| a.subject_public_key_info.cmp(&b.subject_public_key_info))
    });
    anchors.dedup();
    Ok(anchors)
}

/// The TLS configuration towards origins; ALPN offers h2 and HTTP/1.1.
pub(crate) fn trust(roots: Vec<TrustAnchor<'static>>) -> Result<Arc<ClientConfig>, TrustError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Refused)?
        .with_root_certificates(RootCertStore { roots })
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn add_file(roots: &mut RootCertStore, file: &Path) -> Result<(), TrustError> {
    let failed = |error| TrustError::Unreadable(file.to_owned(), error);
    let mut found = false;
    for certificate in CertificateDer::pem_file_iter(file).map_err(failed)? {
        let certificate = certificate.map_err(failed)?;
        roots.add(certificate).map_err(|error| TrustError::File(file.to_owned(), error))?;
        found = true;
    }
    if found { Ok(()) } else { Err(failed(pem::Error::NoItemsFound)) }
}

/// Why a set of trusted certificates cannot be used.
#[derive(Debug)]
pub(crate) enum TrustError {
    Unreadable(PathBuf, pem::Error),
    File(PathBuf, rustls::Error),
    Refused(rustls::Error),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(file, error) => write!(f, "--ca {}: {error}", file.display()),
            Self::File(file, error) => write!(f, "--ca {}: {error}", file.display()),
            Self::Refused(error) => write!(f, "TLS towards origins: {error}"),
        }
    }
}

impl std::error::Error for TrustError {}
