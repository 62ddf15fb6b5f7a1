//! When a connection has waited long enough: for a request head that has begun, for the next
//! request on an idle connection, or, once the host is stopping, for the client's goodbye.
//! A request in flight is bounded by the component's clocks alone.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::arguments::Limits;
use crate::instance::ResponseBody;

/// How long an h2 client has for its own goodbye after GOAWAY.
const GOODBYE: Duration = Duration::from_secs(1);

/// What the clock says of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    /// It was idle for too long: end it in the way of its protocol.
    SayGoodbye,
    /// Its head took too long, or its goodbye: drop it.
    Close,
}

/// The clock of one connection.
pub(super) struct Clock {
    head: Duration,
    idle: Duration,
    state: Mutex<State>,
}

struct State {
    in_flight: usize,
    wait: Wait,
    since: Instant,
}

/// What the connection waits for while nothing is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The rest of a head, or the first head of all.
    Head,
    NextRequest,
}

impl Clock {
    pub(super) fn new(limits: &Limits) -> Self {
        let state = State { in_flight: 0, wait: Wait::Head, since: Instant::now() };
        Self {
            head: Duration::from_millis(limits.head_timeout_ms.get()),
            idle: Duration::from_millis(limits.idle_timeout_ms.get()),
            state: Mutex::new(state),
        }
    }

    /// Bytes came in: on an idle connection they begin a head.
    pub(super) fn received(&self) {
        self.locked(|state| {
            if state.in_flight == 0 && state.wait == Wait::NextRequest {
                state.wait = Wait::Head;
                state.since = Instant::now();
            }
        });
    }

    /// A head is complete.
    pub(super) fn begin(self: Arc<Self>) -> InFlight {
        self.locked(|state| state.in_flight += 1);
        InFlight(self)
    }

    /// Whether a request is in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.locked(|state| state.in_flight > 0)
    }

    /// When to look again; while something is in flight that is only a reminder. `leaving` is when
    /// the goodbye was said.
    pub(super) fn deadline(&self, leaving: Option<Instant>) -> Instant {
        self.locked(|state| match (state.in_flight, leaving) {
            (0, Some(left)) => state.since.max(left) + GOODBYE,
            (0, None) => state.since + self.patience(state.wait),
            (_, Some(_)) => Instant::now() + GOODBYE,
            (_, None) => Instant::now() + self.idle,
        })
    }

    pub(super) fn verdict(&self, leaving: Option<Instant>) -> Verdict {
        let (busy, wait) = self.locked(|state| (state.in_flight > 0, state.wait));
        if busy || Instant::now() < self.deadline(leaving) {
            Verdict::GoOn
        } else if leaving.is_none() && wait == Wait::NextRequest {
            Verdict::SayGoodbye
        } else {
            Verdict::Close
        }
    }

    fn patience(&self, wait: Wait) -> Duration {
        match wait {
            Wait::Head => self.head,
            Wait::NextRequest => self.idle,
        }
    }

    fn end(&self) {
        self.locked(|state| {
            state.in_flight = state.in_flight.saturating_sub(1);
            state.wait = Wait::NextRequest;
            state.since = Instant::now();
        });
    }

    fn locked<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request whose answer is not at its end.
pub(super) struct InFlight(Arc<Clock>);

impl InFlight {
    pub(super) fn until_end_of(self, body: ResponseBody) -> Counted {
        Counted { body, _in_flight: self }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An answer's body that keeps its request in flight for as long as it lives.
pub(super) struct Counted {
    body: ResponseBody,
    _in_flight: InFlight,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = <ResponseBody as Body>::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Arc<Clock> {
        Arc::new(Clock {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            state: Mutex::new(State { in_flight: 0, wait: Wait::Head, since: Instant::now() }),
        })
    }

    async fn after(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_from_its_first_byte() {
        let clock = clock();
        drop(Arc::clone(&clock).begin());
        after(50).await;
        clock.received();
        after(9).await;
        clock.received();
        assert_eq!(clock.verdict(None), Verdict::GoOn);
        after(1).await;
        assert_eq!(clock.verdict(None), Verdict::Close, "further bytes of the same head buy no time");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_has_longer_than_a_head_and_is_told() {
        let clock = clock();
        drop(Arc::clone(&clock).begin());
        after(59).await;
        assert_eq!(clock.verdict(None), Verdict::GoOn);
        after(1).await;
        assert_eq!(clock.verdict(None), Verdict::SayGoodbye);
        let told = Some(Instant::now());
        assert_eq!(clock.verdict(told), Verdict::GoOn);
        after(1).await;
        assert_eq!(clock.verdict(told), Verdict::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_is_never_over() {
        let clock = clock();
        let told = Some(Instant::now());
        let in_flight = Arc::clone(&clock).begin();
        after(400).await;
        assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
        drop(in_flight);
        assert_eq!(clock.verdict(told), Verdict::GoOn);
        after(1).await;
        assert_eq!(clock.verdict(told), Verdict::Close);
    }
}
