//! The word that the host is ending, said once and heard by everyone.

use tokio::sync::watch;

pub(crate) struct Stop(watch::Sender<bool>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn say(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn subscribe(&self) -> Stopping {
        Stopping(self.0.subscribe())
    }
}

pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Until the host is ending; at once when it already is.
    pub(crate) async fn wait(&mut self) {
        // A sender that has gone is an end as well.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
