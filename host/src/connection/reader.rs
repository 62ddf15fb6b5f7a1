//! Whether an h2 client takes its answer. What its windows keep back stays in the host, and with it the
//! instance that writes it, while the socket is never full: so no clock of the system's bounds it, as it does
//! on HTTP/1.1 (`SEND_TIMEOUT`). Here a stream has the same time for each part of its answer, and is reset
//! then, behind the part that h2 may have of it already. No rule of RFC 9113 makes a sender wait (section 10.5 tells
//! it to watch for such clients).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use hyper::rt::Executor;
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock::Clock;
use crate::listener::SEND_TIMEOUT;

/// The part of an answer that is one step forward, and the most that h2 keeps for a window that is open by
/// a byte: its own frames are no larger (RFC 9113 section 4.2).
const PART: usize = 16 * 1024;

tokio::task_local! {
    /// Of the stream that is worked on in this task.
    static READER: Arc<Reader>;
}

/// The client of one stream.
#[derive(Default)]
pub(super) struct Reader(Mutex<State>);

#[derive(Default)]
struct State {
    /// Since when a part of the answer waits for the client.
    offered: Option<Instant>,
    /// What comes behind that part.
    rest: Bytes,
}

impl Reader {
    /// The client of the stream whose task this is; HTTP/1.1 has none.
    pub(super) fn of_stream() -> Option<Arc<Self>> {
        READER.try_with(Arc::clone).ok()
    }

    /// The next part is asked for, so the one before has been taken. Gives what is still to be offered.
    pub(super) fn next(&self) -> Option<Bytes> {
        self.locked(|state| {
            state.offered = None;
            (!state.rest.is_empty()).then(|| state.offer())
        })
    }

    /// Offers new bytes: the first part of them.
    pub(super) fn offer(&self, bytes: Bytes) -> Bytes {
        self.locked(|state| {
            state.rest = bytes;
            state.offer()
        })
    }

    pub(super) fn has_all(&self) -> bool {
        self.locked(|state| state.rest.is_empty())
    }

    fn locked<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn offer(&mut self) -> Bytes {
        self.offered = Some(Instant::now());
        self.rest.split_to(self.rest.len().min(PART))
    }
}

/// Runs the streams of one connection, each as long as its client takes something.
#[derive(Clone)]
pub(super) struct Streams(pub(super) Arc<Clock>);

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
{
    fn execute(&self, stream: F) {
        let clock = Arc::clone(&self.0);
        let reader = Arc::new(Reader::default());
        tokio::spawn(READER.scope(Arc::clone(&reader), async move {
            while_read(stream, &reader, &clock).await;
        }));
    }
}

/// Dropping a stream before its end resets it.
async fn while_read(stream: impl Future, reader: &Reader, clock: &Clock) {
    let mut stream = pin!(stream);
    let mut alarm = pin!(None::<Sleep>);
    poll_fn(|cx| {
        if stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        loop {
            let Some(since) = reader.locked(|state| state.offered) else { return Poll::Pending };
            let due = since + SEND_TIMEOUT;
            match alarm.as_mut().as_pin_mut() {
                // A later one waits for the alarm that is set, which costs less than to set it again.
                Some(set) if !set.is_elapsed() => {
                    if set.poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                _ if Instant::now() < due => alarm.set(Some(sleep_until(due))),
                // What the socket does not take has the system's clock, which sees the client read where
                // nothing here does.
                _ if clock.is_blocked() => reader.locked(|state| state.offered = Some(Instant::now())),
                _ => return Poll::Ready(()),
            }
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use h2::client::{Builder, Connection};
    use h2::{Reason, RecvStream};
    use http::{Request, Response};
    use http_body_util::Full;
    use hyper::server::conn::http2;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{DuplexStream, duplex};
    use tokio::time::sleep;

    use super::super::clock::GOODBYE;
    use super::super::framing::{Content, Framing};
    use super::super::watched::Watched;
    use super::*;
    use crate::instance::ResponseBody;
    use crate::record::Ending;

    const LENGTH: usize = 5 * PART;

    /// An answer of `LENGTH` on a connection with these windows, through a socket that holds so much.
    async fn answer(window: u32, socket: usize) -> (RecvStream, Connection<DuplexStream, Bytes>, Arc<Clock>) {
        let (client, server) = duplex(socket);
        let clock = Arc::new(Clock::of_test(GOODBYE, Framing::http2()));
        let io = TokioIo::new(Watched::new(server, Arc::clone(&clock)));
        let (streams, watching) = (Streams(Arc::clone(&clock)), Arc::clone(&clock));
        tokio::spawn(http2::Builder::new(streams).serve_connection(
            io,
            service_fn(move |_| {
                let body = ResponseBody::Whole(Full::new(vec![b'x'; LENGTH].into()));
                let in_flight = Arc::clone(&clock).begin(Content::None);
                async move {
                    let reader = Reader::of_stream();
                    let counted = in_flight.until_end_of(body, None, reader, Ending::of(None));
                    Ok::<_, Infallible>(Response::new(counted))
                }
            }),
        ));
        let mut builder = Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(1 << 20);
        let (mut sender, mut connection) = builder.handshake::<_, Bytes>(client).await.unwrap();
        let request = Request::get("https://lb.example/").body(()).unwrap();
        let (response, _) = sender.send_request(request, true).unwrap();
        let response = tokio::select! {
            response = response => response.unwrap(),
            ended = &mut connection => panic!("{ended:?}"),
        };
        // Else the connection says goodbye.
        std::mem::forget(sender);
        (response.into_body(), connection, watching)
    }

    /// Takes an answer part by part, with a pause behind each.
    async fn take(body: &mut RecvStream, pause: Duration) -> Result<usize, h2::Error> {
        let mut taken = 0;
        while let Some(part) = body.data().await {
            let length = part?.len();
            taken += length;
            sleep(pause).await;
            // Refused once the stream has ended.
            let _ = body.flow_control().release_capacity(length);
        }
        Ok(taken)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_a_window_keeps_back_is_reset_in_its_time() {
        for window in [0, 1, 20_000] {
            let (mut body, connection, clock) = answer(window, 1 << 20).await;
            tokio::spawn(connection);
            sleep(Duration::from_secs(59)).await;
            assert!(clock.is_in_flight(), "{window}");
            sleep(Duration::from_secs(2)).await;
            assert!(!clock.is_in_flight(), "{window}");
            // Behind the part that h2 has had since the window was open.
            let reset = take(&mut body, Duration::ZERO).await.unwrap_err();
            assert_eq!(reset.reason(), Some(Reason::CANCEL), "{window}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_part_now_and_then_gets_all_of_it() {
        let (mut body, connection, _) = answer(u32::try_from(PART).unwrap(), 1 << 20).await;
        tokio::spawn(connection);
        assert_eq!(take(&mut body, Duration::from_secs(50)).await.unwrap(), LENGTH);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_full_socket_keeps_back_has_the_systems_clock() {
        let (mut body, connection, _) = answer(1 << 20, 1024).await;
        // Nobody polls the connection: nothing is read.
        sleep(Duration::from_secs(200)).await;
        tokio::spawn(connection);
        assert_eq!(take(&mut body, Duration::ZERO).await.unwrap(), LENGTH);
    }
}
