//! `--demo` placeholder.
use crate::arguments::ServeArguments;
use rustls_pki_types::CertificateDer;
use std::net::SocketAddr;
pub(crate) struct Demo {
    certificate: CertificateDer<'static>,
}
impl Demo {
    pub(crate) async fn of(arguments: &ServeArguments) -> Result<Option<Self>, String> {
        if arguments.demo { Err("--demo is not built yet".to_owned()) } else { Ok(None) }
    }
    pub(crate) fn origins(&self) -> String {
        String::new()
    }
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }
    pub(crate) fn invitation(&self, _: SocketAddr) -> String {
        String::new()
    }
}
