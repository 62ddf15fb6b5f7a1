//! The room for replay copies that the requests of an instance share.

use crate::policy::plan::Plan;
use crate::policy::replay_room::ReplayRoom;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Beside what 5 000 uploads have in hand, far below the 4 GiB of a linear memory.
const ROOM: usize = 256 * 1024 * 1024;

/// Kept as long as the host keeps the instance.
static SHARED: Mutex<ReplayRoom> = Mutex::new(ReplayRoom::new(ROOM));

/// The room of one request, for as long as it lives.
pub(super) struct ReplayCopy(usize);

impl ReplayCopy {
    pub(super) fn of(plan: &mut Plan<'_>) -> Self {
        Self(shared().set_aside(plan))
    }

    /// The room of a request without a body.
    pub(super) const fn none() -> Self {
        Self(0)
    }
}

impl Drop for ReplayCopy {
    fn drop(&mut self) {
        shared().give_back(self.0);
    }
}

/// Never held while anything is awaited.
fn shared() -> MutexGuard<'static, ReplayRoom> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
