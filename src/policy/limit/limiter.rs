//! The limiter of an instance: a table and the secret of its keys. A value that the shell keeps as
//! long as its host keeps the instance.

use super::super::time::Millis;
use super::gate::Gate;
use super::key::Secret;
use super::table::Table;
use super::window::Hit;
use std::num::NonZeroU32;

/// What an instance remembers of its requests.
#[derive(Debug)]
pub struct Limiter {
    secret: Secret,
    table: Table,
}

impl Limiter {
    /// One that has seen nothing; `dice` are 128 random bits.
    #[must_use]
    pub fn new(dice: [u64; 2], max_entries: NonZeroU32) -> Self {
        Self { secret: Secret::new(dice), table: Table::new(max_entries) }
    }

    /// Counts a request; `now` is the time of day, since the epoch.
    pub fn count(&mut self, gate: &Gate<'_>, now: Millis) -> Hit {
        self.table.count(gate.request(self.secret), now)
    }
}
