//! Where an origin stands in its script.

use crate::case::{ConnectionFault, Origin, Turn};

/// What to say of an origin that has so many unused turns.
pub(crate) fn unused_turns(url: &str, count: usize) -> Option<String> {
    (count > 0).then(|| format!("{url}: {count} turn(s) of the script were not used"))
}

/// The turns of one origin that are still to come.
#[derive(Debug)]
pub(crate) struct Script {
    turns: Vec<Turn>,
    next: usize,
}

impl Script {
    pub(crate) fn new(origin: &Origin) -> Self {
        Self { turns: origin.script.clone(), next: 0 }
    }

    /// The fault that a new connection meets, which uses the turn up.
    pub(crate) fn connection_fault(&mut self) -> Option<ConnectionFault> {
        let fault = self.upcoming()?.connection?;
        self.advance();
        Some(fault)
    }

    /// What happens to a request; `None` where the script has nothing for it.
    pub(crate) fn request(&mut self) -> Option<Turn> {
        let turn = self.upcoming().filter(|turn| turn.connection.is_none())?.clone();
        self.advance();
        Some(turn)
    }

    /// Whether the next connection must be a new one, so that the present one has to end.
    pub(crate) fn wants_new_connection(&self) -> bool {
        self.upcoming().is_some_and(|turn| turn.connection.is_some())
    }

    /// The turns that had to be used and were not.
    pub(crate) fn unused(&self) -> usize {
        let repeating = self.turns.last().is_some_and(|turn| turn.repeat);
        (self.turns.len() - usize::from(repeating)).saturating_sub(self.next)
    }

    fn upcoming(&self) -> Option<&Turn> {
        self.turns.get(self.next)
    }

    fn advance(&mut self) {
        if self.upcoming().is_some_and(|turn| !turn.repeat) {
            self.next += 1;
        }
    }
}
