//! The policy's words in those of `wasi:http/types`, and back. Versions 0.2 and 0.3 name the same
//! things alike, but each has types of its own: so the rules stand here once, and each shell
//! expands them for its version.

/// Expands to the translations for the types at a path; the further arguments are the names by which
/// that version lists all fields of a header section, and calls what is sent.
macro_rules! translation {
    ($($types:ident)::+, $all_fields:ident, $request:ident, $response:ident) => {
        use $($types)::+::{ErrorCode, Fields, RequestOptions, $request, $response, self as types};
        use crate::policy::exchange::{Answer, BACKEND_FIELD};
        use crate::policy::failure::FailureClass;
        use crate::policy::headers::{Field, Headers};
        use crate::policy::method::Method;
        use crate::policy::time::Millis;
        use crate::policy::upgrade::Scheme;

        /// Hands a header section to the host, whole. A host that forbids one field refuses the
        /// whole list: then that field is dropped, never the message.
        pub(super) fn lower(headers: &[Field]) -> Fields {
            if let Ok(fields) = Fields::from_list(headers) {
                return fields;
            }
            let fields = Fields::new();
            for (name, value) in headers {
                let _ = fields.append(name, value);
            }
            fields
        }

        /// The header section of an origin's answer, with the one field that the balancer adds.
        pub(super) fn lower_answer(answer: Answer<'_>) -> Fields {
            let mut headers = answer.headers.into_vec();
            headers.push((BACKEND_FIELD.to_owned(), answer.backend.as_str().into()));
            lower(&headers)
        }

        /// Takes a header section from the host.
        pub(super) fn lift(fields: &Fields) -> Headers {
            Headers::new(fields.$all_fields())
        }

        /// The scheme by which a request arrived: https, or anything else.
        pub(super) fn scheme(scheme: types::Scheme) -> Scheme {
            match scheme {
                types::Scheme::Https => Scheme::Https,
                types::Scheme::Http | types::Scheme::Other(_) => Scheme::Http,
            }
        }

        /// A client's method, byte for byte.
        pub(super) fn method_name(method: types::Method) -> String {
            let name = match method {
                types::Method::Get => "GET",
                types::Method::Head => "HEAD",
                types::Method::Post => "POST",
                types::Method::Put => "PUT",
                types::Method::Delete => "DELETE",
                types::Method::Connect => "CONNECT",
                types::Method::Options => "OPTIONS",
                types::Method::Trace => "TRACE",
                types::Method::Patch => "PATCH",
                types::Method::Other(name) => return name,
            };
            name.to_owned()
        }

        /// Gives a request to an origin its method; `GET` is what it has.
        pub(super) fn set_method(request: &$request, method: Method) -> bool {
            let method = match method {
                Method::Get => return true,
                Method::Post => types::Method::Post,
                Method::Put => types::Method::Put,
                Method::Head => types::Method::Head,
                Method::Patch => types::Method::Patch,
                Method::Delete => types::Method::Delete,
                Method::Options => types::Method::Options,
            };
            request.set_method(&method).is_ok()
        }

        /// Gives an answer its status; 200 is what it has. The policy's are all valid, and one that a
        /// host gave is one that it takes.
        pub(super) fn set_status(response: &$response, status: u16) {
            if status != 200 {
                let _ = response.set_status_code(status);
            }
        }

        /// Longer than any clock of the policy, so that no default of the host ends an attempt or
        /// counts a slow client against its origin; in nanoseconds.
        const NO_HOST_TIMEOUT: u64 = 1 << 52;

        /// The policy's clocks are the only ones; `silence` between two chunks of the answer is
        /// left to the host where the shell cannot watch it. A host that knows no such option
        /// keeps its own.
        pub(super) fn options(silence: Option<Millis>) -> RequestOptions {
            let options = RequestOptions::new();
            let silence = silence.map_or(NO_HOST_TIMEOUT, crate::wasi::nanos);
            let _ = options.set_first_byte_timeout(Some(NO_HOST_TIMEOUT));
            let _ = options.set_between_bytes_timeout(Some(silence));
            options
        }

        /// The class of an outgoing request's failure. What the stock sender of wasmtime cannot
        /// tell apart (a reset arrives as a protocol error) stays apart here no better than it
        /// came.
        pub(super) fn class(code: &ErrorCode) -> FailureClass {
            match code {
                ErrorCode::ConnectionTimeout
                | ErrorCode::ConnectionReadTimeout
                | ErrorCode::ConnectionWriteTimeout
                | ErrorCode::HttpResponseTimeout => FailureClass::Timeout,
                ErrorCode::DnsTimeout | ErrorCode::DnsError(_) => FailureClass::Dns,
                ErrorCode::ConnectionRefused => FailureClass::Refused,
                ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
                    FailureClass::Reset
                }
                ErrorCode::DestinationNotFound
                | ErrorCode::DestinationUnavailable
                | ErrorCode::DestinationIpUnroutable
                | ErrorCode::ConnectionLimitReached => FailureClass::Unreachable,
                ErrorCode::TlsProtocolError
                | ErrorCode::TlsCertificateError
                | ErrorCode::TlsAlertReceived(_) => FailureClass::Tls,
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
                ErrorCode::DestinationIpProhibited | ErrorCode::HttpRequestDenied => {
                    FailureClass::Prohibited
                }
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
    };
}

pub(crate) use translation;
