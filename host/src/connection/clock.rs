//! When a connection has waited long enough: for a request head that has begun, for the next
//! request on an idle connection, or, once the host is stopping, for the client's goodbye.
//! A request in flight is bounded by the component's clocks alone, and bytes of its answer that the
//! client has not taken yet by the system's (`SEND_TIMEOUT` of the listener; on h2 by `Reader`). An h2 head
//! that has begun holds up every other stream (RFC 9113 section 4.3), so it has its time beside them.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::framing::{Content, Framing};
use super::reader::Reader;
use super::socket::Socket;
use crate::arguments::Limits;
use crate::instance::ResponseBody;
use crate::record::Ending;

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
    framing: Framing,
    /// Since when an h2 head, or another frame that nothing else bounds, is incomplete.
    partial: Option<Instant>,
}

impl State {
    fn new(framing: Framing) -> Self {
        Self {
            in_flight: 0,
            at_origin: false,
            unsent: false,
            wait: Wait::Head,
            since: Instant::now(),
            framing,
            partial: None,
        }
    }

    /// Bytes came in, or a request ended: what has begun and not ended is looked at again.
    fn look(&mut self, restart: bool) {
        match &self.framing {
            // While a request is in flight, hyper does not read what is behind it.
            Framing::Http1(http1) => {
                if self.in_flight == 0 && self.wait == Wait::NextRequest && http1.is_within_head() {
                    self.wait = Wait::Head;
                    self.since = Instant::now();
                }
            }
            Framing::Http2(http2) if http2.is_partial(self.in_flight > 0) => {
                if restart || self.partial.is_none() {
                    self.partial = Some(Instant::now());
                }
            }
            Framing::Http2(_) => self.partial = None,
        }
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
    pub(super) fn new(limits: &Limits, goodbye: Duration, framing: Framing) -> Self {
        Self {
            head: Duration::from_millis(limits.head_timeout_ms.get()),
            idle: Duration::from_millis(limits.idle_timeout_ms.get()),
            goodbye,
            state: Mutex::new(State::new(framing)),
            origin_reached: Notify::new(),
        }
    }

    /// Says whether what came in makes sense so far.
    pub(super) fn received(&self, bytes: &[u8]) -> bool {
        self.locked(|state| {
            let completed = state.framing.take(bytes);
            state.look(completed);
            !state.framing.is_malformed()
        })
    }

    /// The body of the request that has just been read is malformed already.
    pub(super) fn is_malformed(&self) -> bool {
        self.locked(|state| state.framing.is_malformed())
    }

    /// The socket takes no more for now. An answer ends for hyper when its last bytes are in hyper's
    /// buffer; it is not over before they are in the socket's.
    pub(super) fn blocked(&self) {
        self.locked(|state| state.unsent = true);
    }

    /// Whether the socket has not taken all that was written.
    pub(super) fn is_blocked(&self) -> bool {
        self.locked(|state| state.unsent)
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
    pub(super) fn begin(self: Arc<Self>, content: Content) -> InFlight {
        self.locked(|state| {
            state.in_flight += 1;
            state.framing.head_was_read(content);
            state.look(false);
        });
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
        self.locked(|state| {
            let ordinary = match (state.is_busy(), leaving) {
                (false, Some(left)) => state.since.max(left) + self.goodbye,
                (false, None) => state.since + self.patience(state.wait),
                (true, Some(_)) => Instant::now() + self.goodbye,
                (true, None) => Instant::now() + self.idle,
            };
            state.partial.map_or(ordinary, |since| ordinary.min(since + self.head))
        })
    }

    pub(super) fn verdict(&self, leaving: Option<Instant>) -> Verdict {
        let (busy, wait, partial) = self.locked(|state| (state.is_busy(), state.wait, state.partial));
        if partial.is_some_and(|since| Instant::now() >= since + self.head) {
            Verdict::Close
        } else if busy || Instant::now() < self.deadline(leaving) {
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
            state.look(false);
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
    pub(super) fn until_end_of(
        self,
        body: ResponseBody,
        delimiter: Option<Socket>,
        reader: Option<Arc<Reader>>,
        ending: Ending,
    ) -> Counted {
        Counted { body, delimiter, reader, ending, _in_flight: self }
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
    reader: Option<Arc<Reader>>,
    ending: Ending,
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
        if let Some(part) = this.reader.as_ref().and_then(|reader| reader.next()) {
            return Poll::Ready(Some(Ok(Frame::data(part))));
        }
        let mut frame = Pin::new(&mut this.body).poll_frame(cx);
        if let (Poll::Ready(Some(Ok(frame))), Some(reader)) = (&mut frame, &this.reader)
            && let Some(bytes) = frame.data_mut()
        {
            *bytes = reader.offer(std::mem::take(bytes));
        }
        if let Poll::Ready(Some(Err(reason))) = &frame {
            this.ending.broke_off(*reason);
            if let Some(socket) = &this.delimiter {
                socket.reset_at_end();
            }
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.reader.as_ref().is_none_or(|reader| reader.has_all())
    }

    fn size_hint(&self) -> SizeHint {
        // hyper asks before the first part.
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
