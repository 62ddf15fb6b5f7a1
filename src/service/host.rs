//! What the host gives: clocks, dice.

use super::Pending;
use super::bindings::wasi::clocks::{monotonic_clock, system_clock};
use super::bindings::wasi::random::random;
use crate::policy::time::Millis;
use crate::wasi;
use std::task::{Context, Poll};

pub(super) fn now() -> Millis {
    wasi::millis(monotonic_clock::now())
}

/// Since the epoch; before it there was no request.
pub(super) fn time_of_day() -> Millis {
    let now = system_clock::now();
    wasi::time_of_day(u64::try_from(now.seconds).unwrap_or_default(), now.nanoseconds)
}

pub(super) fn dice() -> u64 {
    random::get_random_u64()
}

/// A clock whose deadline moves. Asking the host for another wait costs more than looking at the
/// clock once more, so a deadline that is put off leaves the wait that is running.
#[derive(Default)]
pub(super) struct Alarm(Option<Waiting>);

struct Waiting {
    until: Millis,
    elapsed: Pending<()>,
}

impl Alarm {
    /// Ready once that instant has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, until: Millis) -> Poll<()> {
        loop {
            let waiting = match &mut self.0 {
                Some(waiting) if waiting.until <= until => waiting,
                other => other.insert(Waiting::new(until)),
            };
            if waiting.elapsed.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let Waiting { until: reached, .. } = *waiting;
            self.0 = None;
            if reached == until {
                return Poll::Ready(());
            }
        }
    }
}

impl Waiting {
    fn new(until: Millis) -> Self {
        let elapsed = async move {
            monotonic_clock::wait_until(wasi::nanos(until)).await;
            monotonic_clock::wait_for(wasi::nanos(wasi::LAST_LOOK)).await;
        };
        Self { until, elapsed: Box::pin(elapsed) }
    }
}
