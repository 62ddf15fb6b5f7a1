//! What went wrong with an origin, as the `wasi:http` error that the policy's failure classes are
//! read from (contract 2.6): the first cause in the chain that says something exact decides.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use messageweave_lb::policy::failure::FailureClass;
use wasmtime_wasi_http::Error as WasiError;

use super::resolve::Unresolvable;

/// Why a connection did not come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectFailure {
    /// The name does not resolve.
    Dns,
    Refused,
    /// RST while connecting, RST or an end of stream in the handshake.
    Reset,
    /// The system gave up on the TCP handshake, or the host on the whole of it.
    TimedOut,
    Unreachable,
    Certificate,
    /// Any other fault of the TLS handshake: plain http on the port, an alert.
    Tls,
    /// The name of the origin cannot stand in a certificate.
    Name,
}

impl ConnectFailure {
    /// The failure of opening a TCP connection: the resolver's, or the system's error by kind.
    pub(super) fn of_tcp(error: &(dyn StdError + 'static)) -> Self {
        for cause in causes(error) {
            if cause.is::<Unresolvable>() {
                return Self::Dns;
            }
            if let Some(error) = cause.downcast_ref::<io::Error>() {
                return match error.kind() {
                    io::ErrorKind::ConnectionRefused => Self::Refused,
                    io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Self::Reset,
                    io::ErrorKind::TimedOut => Self::TimedOut,
                    _ => Self::Unreachable,
                };
            }
        }
        Self::Unreachable
    }

    /// The failure of a TLS handshake. An end of stream counts as RST does: an origin that accepts
    /// and closes shows as the one or the other by mere timing.
    pub(super) fn of_handshake(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match (inner, error.kind()) {
            (Some(rustls::Error::InvalidCertificate(_)), _) => Self::Certificate,
            (Some(_), _) => Self::Tls,
            (None, kind) if is_reset(kind) => Self::Reset,
            (None, _) => Self::Tls,
        }
    }

    fn into_wasi(self) -> WasiError {
        match self {
            Self::Dns => WasiError::DnsError { rcode: None, info_code: None },
            Self::Refused => WasiError::ConnectionRefused,
            Self::Reset => WasiError::ConnectionTerminated,
            Self::TimedOut => WasiError::ConnectionTimeout,
            Self::Unreachable => WasiError::DestinationUnavailable,
            Self::Certificate => WasiError::TlsCertificateError,
            Self::Tls => WasiError::TlsProtocolError,
            Self::Name => WasiError::HttpRequestUriInvalid,
        }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.into_wasi().fmt(f)
    }
}

impl StdError for ConnectFailure {}

/// The failure of a request, or of the body of its answer, by the first exact cause.
pub(super) fn classify(error: &(dyn StdError + 'static)) -> WasiError {
    for cause in causes(error) {
        if let Some(failure) = cause.downcast_ref::<ConnectFailure>() {
            return failure.into_wasi();
        }
        if let Some(error) = cause.downcast_ref::<h2::Error>() {
            return of_h2(error);
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return of_io(error);
        }
        if let Some(error) = cause.downcast_ref::<hyper::Error>()
            && let Some(exact) = of_hyper(error)
        {
            return exact;
        }
    }
    // A canceled dispatch without a deeper cause: the connection ended under the request.
    WasiError::ConnectionTerminated
}

/// The policy's class of how an answer's body broke off.
pub(crate) fn class_of_cut(error: &WasiError) -> FailureClass {
    match error {
        WasiError::ConnectionReadTimeout => FailureClass::Timeout,
        WasiError::TlsProtocolError => FailureClass::Tls,
        WasiError::HttpProtocolError => FailureClass::Protocol,
        WasiError::HttpResponseHeaderSectionSize(_) => FailureClass::Limit,
        _ => FailureClass::Reset,
    }
}

fn of_hyper(error: &hyper::Error) -> Option<WasiError> {
    if error.is_parse_too_large() {
        Some(WasiError::HttpResponseHeaderSectionSize(None))
    } else if error.is_parse() {
        Some(WasiError::HttpProtocolError)
    } else if error.is_incomplete_message() {
        Some(WasiError::ConnectionTerminated)
    } else {
        None
    }
}

/// A frame that breaks HTTP/2 is seen by this side's library; everything that the other side
/// says (GOAWAY, RST_STREAM) or that ends the connection is a reset.
fn of_h2(error: &h2::Error) -> WasiError {
    if error.is_library() { WasiError::HttpProtocolError } else { WasiError::ConnectionTerminated }
}

fn of_io(error: &io::Error) -> WasiError {
    if let Some(inner) = error.get_ref() {
        if let Some(error) = inner.downcast_ref::<h2::Error>() {
            return of_h2(error);
        }
        if inner.is::<rustls::Error>() {
            return WasiError::TlsProtocolError;
        }
    }
    match error.kind() {
        // hyper and h2 report malformed framing of a body so.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => WasiError::HttpProtocolError,
        _ => WasiError::ConnectionTerminated,
    }
}

fn is_reset(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| StdError::source(*error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(kind: io::ErrorKind) -> ConnectFailure {
        ConnectFailure::of_tcp(&io::Error::from(kind))
    }

    #[test]
    fn tcp_errors_are_told_apart_by_their_kind() {
        assert_eq!(tcp(io::ErrorKind::ConnectionRefused), ConnectFailure::Refused);
        assert_eq!(tcp(io::ErrorKind::ConnectionReset), ConnectFailure::Reset);
        assert_eq!(tcp(io::ErrorKind::NetworkUnreachable), ConnectFailure::Unreachable);
        assert_eq!(tcp(io::ErrorKind::HostUnreachable), ConnectFailure::Unreachable);
        assert_eq!(tcp(io::ErrorKind::TimedOut), ConnectFailure::TimedOut);
        assert_eq!(ConnectFailure::of_tcp(&Unresolvable), ConnectFailure::Dns);
    }

    #[test]
    fn a_certificate_is_no_other_handshake_fault() {
        let error = |inner| io::Error::new(io::ErrorKind::InvalidData, inner);
        let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert_eq!(ConnectFailure::of_handshake(&error(certificate)), ConnectFailure::Certificate);
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::HandshakeFailure);
        assert_eq!(ConnectFailure::of_handshake(&error(alert)), ConnectFailure::Tls);
        let eof = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(ConnectFailure::of_handshake(&eof), ConnectFailure::Reset);
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(ConnectFailure::of_handshake(&reset), ConnectFailure::Reset);
    }
}
