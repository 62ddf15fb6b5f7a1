//! Envoy's account of a failed try as one of the policy's failure classes (contract 2.6).
//!
//! Envoy says why a try failed in two texts: its details of the response
//! (`upstream_reset_before_response_started{connection_termination}`) and, for a connection that
//! was never made, the transport's reason (`delayed connect error: Connection refused`). Both hold
//! the words of TLS and system libraries: they are read here and never printed. Its log of tries
//! has flags in place of the details.

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
    ("reset by peer", FailureClass::Reset),
    ("refused stream", FailureClass::Reset),
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

/// Bits of Envoy's response flags, likewise. A connection that was not made may have been waited for.
const FLAGS: &[(u32, FailureClass)] = &[
    (1, FailureClass::Dns),
    (2, FailureClass::Timeout),
    (7, FailureClass::Internal),
    (16, FailureClass::Timeout),
    (22, FailureClass::Timeout),
    (23, FailureClass::Protocol),
    (26, FailureClass::Dns),
];
const CONNECTION_FAILURE: u32 = 5;

/// What Envoy tells of a failed try.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Its details of the response.
    pub details: Vec<u8>,
    /// The transport's reason.
    pub reason: Vec<u8>,
    /// Its response flags.
    pub flags: u64,
    /// Whether the whole time for a connection had passed.
    pub waited: bool,
}

impl Account {
    /// The class; a failure that shows no sign is a reset, which is what remains when a connection
    /// was there and went away.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        let texts = [plain(&self.details), plain(&self.reason)];
        let occurs = |sign: &str| {
            texts.iter().any(|text| text.windows(sign.len()).any(|part| part == sign.as_bytes()))
        };
        let flagged = |bit: u32| self.flags & (1 << bit) != 0;
        let sign = SIGNS.iter().find(|(sign, _)| occurs(sign)).map(|(_, class)| *class);
        let silent = self.details.is_empty() && self.reason.is_empty();
        sign.or_else(|| FLAGS.iter().find(|(bit, _)| flagged(*bit)).map(|(_, class)| *class)).unwrap_or(
            match silent && self.waited && flagged(CONNECTION_FAILURE) {
                true => FailureClass::Timeout,
                false => FailureClass::Reset,
            },
        )
    }
}

fn plain(bytes: &[u8]) -> Vec<u8> {
    let blank = |byte: &u8| if b"_.".contains(byte) { b' ' } else { byte.to_ascii_lowercase() };
    bytes.iter().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_has_its_class() {
        use FailureClass::*;
        let started = |what: &str| format!("upstream_reset_before_response_started{{{what}}}");
        for (details, reason, class) in [
            ("upstream_per_try_timeout".to_owned(), "", Timeout),
            (started("connection_timeout"), "", Timeout),
            (started("remote_connection_failure|delayed_connect_error:_Connection_refused"), "", Refused),
            (String::new(), "delayed connect error: Connection refused", Refused),
            (String::new(), "delayed connect error: Connection reset by peer", Reset),
            (
                String::new(),
                "immediate connect error: Network is unreachable|remote address:224.0.0.1:9",
                Unreachable,
            ),
            (String::new(), "TLS_error:|268435703:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER", Tls),
            (started("connection_termination"), "", Reset),
            (started("remote_refused_stream_reset"), "", Reset),
            (started("protocol_error"), "", Protocol),
            ("no_healthy_upstream".to_owned(), "", Dns),
        ] {
            let account =
                Account { details: details.clone().into(), reason: reason.into(), ..Account::default() };
            assert_eq!(account.class(), class, "{details} {reason}");
        }
    }

    #[test]
    fn flags_stand_in_for_details() {
        use FailureClass::*;
        for (flags, waited, class) in [
            (0x4, false, Timeout),
            (0x20, true, Timeout),
            (0x20, false, Reset),
            (0x40, false, Reset),
            (0x80_0000, false, Protocol),
            (0, false, Reset),
        ] {
            let account = Account { flags, waited, ..Account::default() };
            assert_eq!(account.class(), class, "{flags:x}");
        }
    }
}
