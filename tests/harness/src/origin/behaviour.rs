//! What a mock origin does with a connection and with a request.

use std::sync::{Mutex, PoisonError};

use super::Script;
use crate::case::{ConnectionFault, Turn};

/// Decides for one origin.
pub trait Behaviour: Send + Sync {
    /// The fault that a new connection meets.
    fn connection(&self) -> Option<ConnectionFault>;

    /// What happens to a request for a target, and whether its connection has to end after it; nothing:
    /// it should not have come.
    fn request(&self, target: &[u8]) -> Option<(Turn, bool)>;
}

impl Behaviour for Mutex<Script> {
    fn connection(&self) -> Option<ConnectionFault> {
        self.lock().unwrap_or_else(PoisonError::into_inner).connection_fault()
    }

    fn request(&self, _: &[u8]) -> Option<(Turn, bool)> {
        let mut script = self.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = script.request()?;
        let closes = turn.close.is_some() || script.wants_new_connection();
        Some((turn, closes))
    }
}
