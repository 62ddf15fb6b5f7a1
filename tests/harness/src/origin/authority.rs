//! The certificates of a run: one authority that the host trusts, and the bad ones of the faults.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::case::{ConnectionFault, Protocol};

/// A certificate authority made for one run.
pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

type Fallible<T> = Result<T, String>;

impl CertificateAuthority {
    /// A new authority.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new() -> Fallible<Self> {
        let mut params = CertificateParams::new(Vec::new()).map_err(text)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A name of its own: where issuer and subject are the same, a certificate counts as self-signed.
        params.distinguished_name.push(DnType::CommonName, "test authority");
        let key = KeyPair::generate().map_err(text)?;
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, key).map_err(text)? })
    }

    /// The authority's own certificate.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Certificate and key for a server of that name.
    ///
    /// # Errors
    /// When the name is none.
    pub fn issue_pem(&self, name: &str) -> Fallible<(String, String)> {
        let key = KeyPair::generate().map_err(text)?;
        let certificate = params(name)?.signed_by(&key, &self.issuer).map_err(text)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// What a client needs that trusts this authority alone.
    ///
    /// # Errors
    /// When the TLS library refuses.
    pub fn client(&self, protocol: Protocol) -> Fallible<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).map_err(text)?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(text)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![alpn(protocol)];
        Ok(Arc::new(config))
    }

    /// What a mock origin needs for `name`, with the certificate that `fault` asks for.
    pub(super) fn server(
        &self,
        name: &str,
        protocol: Protocol,
        fault: Option<ConnectionFault>,
    ) -> Fallible<Arc<ServerConfig>> {
        let key = KeyPair::generate().map_err(text)?;
        let certificate = match fault {
            Some(ConnectionFault::SelfSigned) => params(name)?.self_signed(&key),
            Some(ConnectionFault::WrongName) => params("wrong-name.example")?.signed_by(&key, &self.issuer),
            Some(ConnectionFault::Expired) => {
                let mut expired = params(name)?;
                expired.not_before = date_time_ymd(2001, 1, 1);
                expired.not_after = date_time_ymd(2002, 1, 1);
                expired.signed_by(&key, &self.issuer)
            }
            _ => params(name)?.signed_by(&key, &self.issuer),
        };
        let chain = vec![CertificateDer::from(certificate.map_err(text)?.der().to_vec())];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(text)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(text)?;
        config.alpn_protocols = vec![alpn(protocol)];
        Ok(Arc::new(config))
    }
}

fn params(name: &str) -> Fallible<CertificateParams> {
    CertificateParams::new(vec![name.to_owned()]).map_err(text)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn alpn(protocol: Protocol) -> Vec<u8> {
    match protocol {
        Protocol::Http1 => b"http/1.1".to_vec(),
        Protocol::Http2 => b"h2".to_vec(),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
