//! The host's error codes as the policy's failure classes.

use super::bindings::wasi::http::types::ErrorCode;
use crate::policy::failure::FailureClass;

/// The class of an outgoing request's failure. What the stock sender of wasmtime cannot tell apart
/// (a reset arrives as a protocol error) stays apart here no better than it came.
pub(super) fn class(code: &ErrorCode) -> FailureClass {
    match code {
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => FailureClass::Timeout,
        ErrorCode::DnsTimeout | ErrorCode::DnsError(_) => FailureClass::Dns,
        ErrorCode::ConnectionRefused => FailureClass::Refused,
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => FailureClass::Reset,
        ErrorCode::DestinationNotFound
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable
        | ErrorCode::ConnectionLimitReached => FailureClass::Unreachable,
        ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError | ErrorCode::TlsAlertReceived(_) => {
            FailureClass::Tls
        }
        ErrorCode::HttpProtocolError
        | ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseTransferCoding(_)
        | ErrorCode::HttpResponseContentCoding(_)
        | ErrorCode::HttpUpgradeFailed
        | ErrorCode::LoopDetected => FailureClass::Protocol,
        ErrorCode::HttpResponseHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSize(_)
        | ErrorCode::HttpResponseTrailerSectionSize(_)
        | ErrorCode::HttpResponseTrailerSize(_) => FailureClass::Limit,
        ErrorCode::DestinationIpProhibited | ErrorCode::HttpRequestDenied => FailureClass::Prohibited,
        ErrorCode::HttpRequestLengthRequired
        | ErrorCode::HttpRequestBodySize(_)
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_)
        | ErrorCode::HttpRequestTrailerSectionSize(_)
        | ErrorCode::HttpRequestTrailerSize(_) => FailureClass::Invalid,
        ErrorCode::ConfigurationError | ErrorCode::InternalError(_) => FailureClass::Internal,
    }
}
