//! How much is under way somewhere, counted by the shares that are held.

use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Load(Arc<()>);

/// Counts for as long as it lives.
pub(crate) struct Share {
    _load: Arc<()>,
}

impl Load {
    /// How many shares there are, and one more: it is for comparing.
    pub(crate) fn weight(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    pub(crate) fn share(&self) -> Share {
        Share { _load: Arc::clone(&self.0) }
    }
}
