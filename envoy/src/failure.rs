//! Envoy's account of a failed try as one of the policy's failure classes (contract 2.6).
//!
//! Envoy says why a try failed in two texts: its details of the response
//! (`upstream_reset_before_response_started{connection_termination}`) and, for a connection that
//! was never made, the transport's reason (`delayed connect error: Connection refused`). Both hold
//! the words of TLS and system libraries: they are read here and never printed.

use messageweave_lb::policy::failure::FailureClass;

/// Signs in order: the first that occurs decides. Envoy joins the two texts with either blanks or
/// underscores, so blanks stand for both.
const SIGNS: &[(&str, FailureClass)] = &[
    ("per try timeout", FailureClass::Timeout),
    ("per try idle timeout", FailureClass::Timeout),
    ("response timeout", FailureClass::Timeout),
    ("connection timeout", FailureClass::Timeout),
    ("request timeout", FailureClass::Timeout),
    ("timed out", FailureClass::Timeout),
    ("connection refused", FailureClass::Refused),
    ("unreachable", FailureClass::Unreachable),
    ("no route to host", FailureClass::Unreachable),
    ("cannot assign requested address", FailureClass::Unreachable),
    ("tls", FailureClass::Tls),
    ("certificate", FailureClass::Tls),
    ("ssl", FailureClass::Tls),
    ("headers too large", FailureClass::Limit),
    ("too many headers", FailureClass::Limit),
    ("headers size exceeds", FailureClass::Limit),
    ("headers count exceeds", FailureClass::Limit),
    ("no healthy upstream", FailureClass::Dns),
    ("no healthy host", FailureClass::Dns),
    ("protocol error", FailureClass::Protocol),
    ("codec error", FailureClass::Protocol),
    ("overflow", FailureClass::Internal),
];

/// The class; a failure that shows no sign is a reset, which is what remains when a connection was
/// there and went away.
#[must_use]
pub fn classify(details: &[u8], transport_reason: &[u8]) -> FailureClass {
    let texts = [plain(details), plain(transport_reason)];
    let occurs = |sign: &str| texts.iter().any(|text| text.contains(sign));
    SIGNS.iter().find(|(sign, _)| occurs(sign)).map_or(FailureClass::Reset, |(_, class)| *class)
}

fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase().replace(['_', '.'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_has_its_class() {
        use FailureClass::*;
        for (details, reason, class) in [
            ("upstream_per_try_timeout", "", Timeout),
            ("upstream_reset_before_response_started{connection_timeout}", "", Timeout),
            (
                "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
                "",
                Refused,
            ),
            ("", "delayed connect error: Connection refused", Refused),
            ("", "immediate connect error: Network is unreachable", Unreachable),
            ("", "TLS_error:|268435703:SSL_routines:OPENSSL_internal:WRONG_VERSION_NUMBER", Tls),
            ("upstream_reset_before_response_started{connection_termination}", "", Reset),
            ("upstream_reset_before_response_started{protocol_error}", "", Protocol),
            ("no_healthy_upstream", "", Dns),
            ("", "", Reset),
        ] {
            assert_eq!(classify(details.as_bytes(), reason.as_bytes()), class, "{details} {reason}");
        }
    }
}
