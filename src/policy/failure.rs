//! What an origin did wrong: a closed set, each class one stable word (contract 2.6).

use super::origin::Origin;
use std::fmt;

/// Why an attempt brought no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The origin answered with a status of 500 or more.
    Status(u16),
    /// The origin did not answer at all.
    Class(FailureClass),
}

/// Statuses are three digits (RFC 9110 section 15); hosts may bring others.
const NO_STATUS: u16 = 1000;

/// How an origin failed to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// The attempt's clock ran out before a whole response head.
    Timeout,
    /// The name did not resolve.
    Dns,
    /// The connection was refused.
    Refused,
    /// RST or EOF before a whole head, h2 GOAWAY or REFUSED_STREAM.
    Reset,
    /// No route to the address.
    Unreachable,
    /// The handshake failed: certificate, protocol, plain http on the TLS port.
    Tls,
    /// Garbage instead of a head, or too many redirect hops.
    Protocol,
    /// A response head over 128 KiB or 2 000 fields.
    Limit,
    /// The host's own policy refused the destination.
    Prohibited,
    /// The host found the request itself invalid.
    Invalid,
    /// The host failed.
    Internal,
}

impl FailureClass {
    /// The stable word, as in answers and logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::Limit => "limit",
            Self::Prohibited => "prohibited",
            Self::Invalid => "invalid",
            Self::Internal => "internal",
        }
    }
}

impl Failure {
    /// What the status of a response head makes of an attempt; nothing where it is an answer. An interim response
    /// is none, and nobody asked for another protocol.
    #[must_use]
    pub const fn of_status(status: u16) -> Option<Self> {
        match status {
            0..200 | NO_STATUS.. => Some(Self::Class(FailureClass::Protocol)),
            500.. => Some(Self::Status(status)),
            _ => None,
        }
    }

    /// Whether the request moves on to the next origin. What the host itself refused would be
    /// refused again.
    #[must_use]
    pub const fn moves_on(self) -> bool {
        !matches!(
            self,
            Self::Class(FailureClass::Prohibited | FailureClass::Invalid | FailureClass::Internal)
        )
    }
}

/// The failure as a log names it: a class, or `HTTP <status>`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "HTTP {status}"),
            Self::Class(class) => f.write_str(class.word()),
        }
    }
}

/// No attempt brought an answer: the last one's origin and failure, and with them the text of the
/// `503`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted<'s> {
    /// The origin that was chosen for the last attempt.
    pub origin: &'s Origin,
    /// What it did, or what the hop did to which it redirected.
    pub failure: Failure,
}

impl fmt::Display for Exhausted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all backends failed: backend {} ", self.origin)?;
        match self.failure {
            Failure::Status(status) => write!(f, "returned HTTP {status}"),
            Failure::Class(class) => write!(f, "unavailable ({})", class.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hosts_own_refusals_stay() {
        use FailureClass::*;
        for class in [Timeout, Dns, Refused, Reset, Unreachable, Tls, Protocol, Limit] {
            assert!(Failure::Class(class).moves_on(), "{class:?}");
        }
        for class in [Prohibited, Invalid, Internal] {
            assert!(!Failure::Class(class).moves_on(), "{class:?}");
        }
        assert!(Failure::Status(500).moves_on());
    }

    #[test]
    fn an_answer_has_a_status_from_200_to_499() {
        for answer in [200, 304, 404, 499] {
            assert_eq!(Failure::of_status(answer), None, "{answer}");
        }
        for status in [500, 503, 599, 600, 999] {
            assert_eq!(Failure::of_status(status), Some(Failure::Status(status)));
        }
        for none in [0, 100, 101, 199, 1000, u16::MAX] {
            assert_eq!(Failure::of_status(none), Some(Failure::Class(FailureClass::Protocol)), "{none}");
        }
    }

    #[test]
    fn the_503_names_the_origin_and_what_it_did() {
        let origin = &Origin::parse("https://a.example").unwrap();
        let text = |failure| Exhausted { origin, failure }.to_string();
        assert_eq!(
            text(Failure::Status(502)),
            "all backends failed: backend https://a.example returned HTTP 502"
        );
        assert_eq!(
            text(Failure::Class(FailureClass::Tls)),
            "all backends failed: backend https://a.example unavailable (tls)"
        );
    }
}
