//! The two clocks of an attempt (contract 2.6): the origin's, which an attempt uses up, and the
//! client's, which starts again with every byte that it sends. Only one runs at a time.

use crate::policy::time::{Budget, Millis};

/// Who is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The origin: connect, handshake, taking the body, answering.
    Origin,
    /// The client: the next bytes of its body.
    Client,
}

#[derive(Debug)]
pub(super) struct Clock {
    now: Millis,
    turn: Turn,
    origin: Budget,
    client: Budget,
    client_whole: Millis,
}

impl Clock {
    pub(super) const fn new(now: Millis, origin: Millis, client: Millis) -> Self {
        Self {
            now,
            turn: Turn::Origin,
            origin: Budget::new(origin),
            client: Budget::new(client),
            client_whole: client,
        }
    }

    /// Charges the time since the last event to whoever was being waited for.
    pub(super) fn advance(&mut self, now: Millis) {
        let spent = now - self.now;
        self.now = self.now.max(now);
        match self.turn {
            Turn::Origin => self.origin.spend(spent),
            Turn::Client => self.client.spend(spent),
        }
    }

    /// The instant of the last event.
    pub(super) const fn now(&self) -> Millis {
        self.now
    }

    /// Says who is being waited for from now on.
    pub(super) const fn wait_for(&mut self, turn: Turn) {
        self.turn = turn;
    }

    /// A new attempt begins.
    pub(super) const fn restart(&mut self, origin: Millis) {
        self.turn = Turn::Origin;
        self.origin = Budget::new(origin);
    }

    /// The client sent something.
    pub(super) const fn client_spoke(&mut self) {
        self.client = Budget::new(self.client_whole);
    }

    /// Whose clock has run out while it was waited for.
    pub(super) const fn expired(&self) -> Option<Turn> {
        let budget = match self.turn {
            Turn::Origin => self.origin,
            Turn::Client => self.client,
        };
        match budget.is_spent() {
            true => Some(self.turn),
            false => None,
        }
    }

    /// When the running clock runs out.
    pub(super) fn deadline(&self) -> Millis {
        let budget = match self.turn {
            Turn::Origin => self.origin,
            Turn::Client => self.client,
        };
        self.now + budget.left()
    }
}
