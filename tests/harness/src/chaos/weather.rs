//! What the origins are like: it changes with every phase of a run and depends on the seed alone.

use super::dice::Dice;
use crate::case::{ConnectionFault, Protocol};

/// An origin of the list.
pub(super) struct Site {
    pub(super) url: &'static str,
    pub(super) version: Protocol,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A mock listens, in most phases.
    Mock,
    /// There is no route to it.
    Unreachable,
    /// Its name has no address (RFC 6761 section 6.4).
    Unresolvable,
}

const fn site(url: &'static str, version: Protocol, kind: Kind) -> Site {
    Site { url, version, kind }
}

pub(super) const SITES: [Site; 7] = [
    site("https://a.example", Protocol::Http1, Kind::Mock),
    site("https://b.example:8443", Protocol::Http2, Kind::Mock),
    site("https://unreachable.example", Protocol::Http1, Kind::Unreachable),
    site("https://c.example", Protocol::Http1, Kind::Mock),
    site("https://d.example", Protocol::Http2, Kind::Mock),
    site("https://nowhere.invalid", Protocol::Http1, Kind::Unresolvable),
    site("https://e.example", Protocol::Http1, Kind::Mock),
];

/// One origin in one phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// Nobody listens.
    pub(super) down: bool,
    /// Every new connection breaks like this.
    pub(super) fault: Option<ConnectionFault>,
    /// How many of a hundred requests fail.
    pub(super) failing: u64,
    /// h2: some requests break their whole connection, and with it whatever else is on it.
    pub(super) rough: bool,
}

impl Weather {
    pub(super) fn of(seed: u64, phase: u64, site: usize) -> Self {
        use ConnectionFault::{Close, Expired, PlainHttp, Reset, SelfSigned, Silent, WrongName};
        let mut dice = Dice::of(&[seed, 2, phase, site as u64]);
        let bad = dice.chance(25);
        let down = bad && dice.chance(20);
        let fault = dice.weighted(
            &[
                (3, Some(Reset)),
                (3, Some(Close)),
                (1, Some(Silent)),
                (2, Some(WrongName)),
                (2, Some(SelfSigned)),
                (2, Some(Expired)),
                (2, Some(PlainHttp)),
            ],
            None,
        );
        let failing = dice.weighted(&[(7, 5), (3, 30), (1, 70)], 5);
        let rough = dice.chance(25);
        Self { down, fault: fault.filter(|_| bad && !down), failing, rough }
    }

    /// Why no request arrives, in the words of the balancer.
    pub(super) fn reason(self) -> Option<&'static str> {
        use ConnectionFault::{Close, Expired, PlainHttp, Reset, SelfSigned, Silent, WrongName};
        if self.down {
            return Some("refused");
        }
        Some(match self.fault? {
            Reset | Close => "reset",
            Silent => "timeout",
            WrongName | SelfSigned | Expired | PlainHttp => "tls",
        })
    }
}
