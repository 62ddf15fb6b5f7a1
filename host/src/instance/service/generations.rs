//! The configurations whose instances live at once. Each instance has a slot of the allocator, and an answer
//! that its client takes slowly holds one through any number of reloads: before the slots run out, the oldest
//! configuration gives way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::arguments::GENERATIONS;
use crate::journal::{self, Level};

/// Tells the instances of those that have not ended, the oldest first, to end at once.
#[derive(Clone, Default)]
pub(super) struct Generations(Arc<Mutex<VecDeque<watch::Sender<bool>>>>);

/// One of them, for as long as an instance may be made of it.
#[derive(Clone)]
pub(super) struct Generation(watch::Receiver<bool>);

impl Generations {
    /// The next one. A slot for each of its instances is left by those before it.
    pub(super) fn next(&self) -> Generation {
        let (end, told) = watch::channel(false);
        let mut living = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        living.retain(|generation| !generation.is_closed());
        // One more is on its way out while the next is made.
        while living.len() + 2 > GENERATIONS
            && let Some(oldest) = living.pop_front()
        {
            oldest.send_replace(true);
            let message =
                "an old configuration still has answers in flight, and too many newer ones: they break off";
            journal::say(Level::Warn, &message);
        }
        living.push_back(end);
        Generation(told)
    }
}

impl Generation {
    /// Until it has to give way.
    pub(super) async fn outlived(&self) {
        // A sender that has gone is no order to end.
        if self.0.clone().wait_for(|told| *told).await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_too_many_gives_way_and_those_that_ended_do_not_count() {
        let generations = Generations::default();
        let mut living: Vec<_> = (0..GENERATIONS - 1).map(|_| generations.next()).collect();
        assert!(living.iter().all(|generation| !*generation.0.borrow()));
        drop(living.pop());
        living.push(generations.next());
        assert!(living.iter().all(|generation| !*generation.0.borrow()));
        living.push(generations.next());
        let told: Vec<_> = living.iter().filter(|generation| *generation.0.borrow()).collect();
        assert!(told.len() == 1 && *living[0].0.borrow());
    }
}
