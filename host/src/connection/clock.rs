//! When a connection has waited long enough: for a request head that has begun, for the next
//! request on an idle connection, or, once the host is stopping, for the client's goodbye.
//! A request in flight is bounded by the component's clocks alone, and bytes of its answer that the
//! client has not taken yet by the system's (`SEND_TIMEOUT` of the listener).

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::socket::Socket;
use crate::arguments::Limits;
use crate::instance::ResponseBody;

/// How long an HTTP/1 client may take to end its side once hyper has been told to close.
pub(super) const GOODBYE: Duration = Duration::from_secs(1);

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
pub(crate) struct Clock {
    head: Duration,
    idle: Duration,
    goodbye: Duration,
    state: Mutex<State>,
    origin_reached: Notify,
}

struct State {
    in_flight: usize,
    /// A request in flight has one open to an origin.
    at_origin: bool,
    /// The stream holds bytes that the socket does not take yet.
    unsent: bool,
    wait: Wait,
    since: Instant,
}

impl State {
    fn new() -> Self {
        Self { in_flight: 0, at_origin: false, unsent: false, wait: Wait::Head, since: Instant::now() }
    }

    fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.unsent
    }
}

/// What the connection waits for while nothing is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The rest of a head, or the first head of all.
    Head,
    NextRequest,
}

impl Clock {
    /// `goodbye` is what the connection has to end by itself once it was told to.
    pub(super) fn new(limits: &Limits, goodbye: Duration) -> Self {
        Self {
            head: Duration::from_millis(limits.head_timeout_ms.get()),
            idle: Duration::from_millis(limits.idle_timeout_ms.get()),
            goodbye,
            state: Mutex::new(State::new()),
            origin_reached: Notify::new(),
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

    /// The socket takes no more for now. An answer ends for hyper when its last bytes are in hyper's
    /// buffer; it is not over before they are in the socket's.
    pub(super) fn blocked(&self) {
        self.locked(|state| state.unsent = true);
    }

    /// Everything written has been sent. What was waited for begins now, if it had to wait.
    pub(super) fn flushed(&self) {
        self.locked(|state| {
            if state.unsent {
                state.unsent = false;
                state.since = Instant::now();
            }
        });
    }

    /// A head is complete.
    pub(super) fn begin(self: Arc<Self>) -> InFlight {
        self.locked(|state| state.in_flight += 1);
        InFlight(self)
    }

    /// A request in flight now has one open to an origin.
    pub(crate) fn reach_origin(&self) {
        self.locked(|state| state.at_origin = state.in_flight > 0);
        self.origin_reached.notify_waiters();
    }

    /// Until a request in flight has one open to an origin.
    pub(super) async fn origin_reached(&self) {
        loop {
            let mut reached = pin!(self.origin_reached.notified());
            // Registered before the look, so that nothing is missed between the two.
            reached.as_mut().enable();
            if self.locked(|state| state.at_origin) {
                return;
            }
            reached.await;
        }
    }

    /// When to look again; while something is in flight or unsent that is only a reminder. `leaving` is when
    /// the goodbye was said.
    pub(super) fn deadline(&self, leaving: Option<Instant>) -> Instant {
        self.locked(|state| match (state.is_busy(), leaving) {
            (false, Some(left)) => state.since.max(left) + self.goodbye,
            (false, None) => state.since + self.patience(state.wait),
            (true, Some(_)) => Instant::now() + self.goodbye,
            (true, None) => Instant::now() + self.idle,
        })
    }

    pub(super) fn verdict(&self, leaving: Option<Instant>) -> Verdict {
        let (busy, wait) = self.locked(|state| (state.is_busy(), state.wait));
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
            state.at_origin &= state.in_flight > 0;
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
    /// `delimiter` is the socket whose end is the body's end, where nothing else is.
    pub(super) fn until_end_of(self, body: ResponseBody, delimiter: Option<Socket>) -> Counted {
        Counted { body, delimiter, _in_flight: self }
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
    delimiter: Option<Socket>,
    _in_flight: InFlight,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = <ResponseBody as Body>::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        if let (Poll::Ready(Some(Err(_))), Some(socket)) = (&frame, &this.delimiter) {
            socket.reset_at_end();
        }
        frame
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
            goodbye: GOODBYE,
            state: Mutex::new(State::new()),
            origin_reached: Notify::new(),
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

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_unsent_bytes_is_never_over_and_then_has_its_time() {
        let clock = clock();
        drop(Arc::clone(&clock).begin());
        clock.blocked();
        after(400).await;
        let told = Some(Instant::now());
        after(400).await;
        assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
        clock.flushed();
        assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
        after(1).await;
        assert_eq!(clock.verdict(told), Verdict::Close);
        clock.flushed();
        after(59).await;
        assert_eq!(clock.verdict(None), Verdict::SayGoodbye, "a later flush of nothing buys no time");
    }
}
