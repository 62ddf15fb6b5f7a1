//! The component's answer on its way to the client. Its end is passed on only when it is a true
//! end: a body that a trap cut, or that the component never finished, is an error, so that hyper
//! breaks the transfer off (HTTP/1.1: no last chunk, the connection closes; h2: RST_STREAM).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::WasiBody;

/// Between the last bytes of a body and its breaking off. hyper throws away what it has not written
/// yet when a body fails, on h2 the head too: this is the time in which it is written.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// The body of every answer: the host's own text, or what the component writes.
pub(crate) enum ResponseBody {
    Whole(Full<Bytes>),
    Component(ComponentBody),
}

/// The transfer broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenOff {
    /// The component aborted it, which is how it says that an origin's body broke off.
    Aborted,
    /// The component trapped, or returned without finishing the body.
    Unfinished,
}

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aborted => "the body was aborted",
            Self::Unfinished => "the body was left unfinished",
        })
    }
}

impl std::error::Error for BrokenOff {}

/// Ends the task of a component whose client has gone away: its store goes, and with it the
/// request to the origin. A task of a shared instance is told that its answer is over, whole or
/// not.
pub(super) struct AbortOnDrop(Option<Task>);

enum Task {
    Own(AbortHandle),
    Shared { _delivered: oneshot::Sender<()> },
}

impl AbortOnDrop {
    pub(super) fn new(task: AbortHandle) -> Self {
        Self(Some(Task::Own(task)))
    }

    /// The call is over already.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    pub(super) fn of_shared(delivered: oneshot::Sender<()>) -> Self {
        Self(Some(Task::Shared { _delivered: delivered }))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(Task::Own(task)) = self.0.take() {
            task.abort();
        }
    }
}

/// What a component writes, watched until its end.
pub(crate) struct ComponentBody {
    written: WasiBody,
    /// Bytes to come, where content-length says so: the reader may then never ask for the end.
    left: Option<u64>,
    /// The length that a 304 tells of a body it does not have (RFC 9110 section 8.6).
    told: Option<u64>,
    outcome: Outcome,
    breaking: Option<Breaking>,
    task: AbortOnDrop,
}

/// A body that is about to break off.
struct Breaking {
    reason: BrokenOff,
    last_words: Pin<Box<Sleep>>,
}

/// How the component's call ended. The sender goes before the store does, so an end of the body
/// that the store's death made is always preceded by `Trapped`.
pub(super) enum Outcome {
    Running(oneshot::Receiver<()>),
    /// The call returned before its answer began; the instance lives on.
    Shared(InstanceLife),
    Returned,
    Trapped,
}

/// The life of a shared instance: its sender goes when it traps. Whoever holds this keeps an instance whose
/// configuration was replaced alive.
pub(super) type InstanceLife = watch::Receiver<()>;

impl Outcome {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> &Self {
        if let Self::Running(returned) = self
            && let Poll::Ready(result) = Pin::new(returned).poll(cx)
        {
            *self = if result.is_ok() { Self::Returned } else { Self::Trapped };
        }
        if let Self::Shared(life) = self
            && life.has_changed().is_err()
        {
            *self = Self::Trapped;
        }
        self
    }
}

impl ComponentBody {
    pub(super) fn wrap(
        response: Response<WasiBody>,
        (method, version): (&Method, Version),
        outcome: Outcome,
        mut task: AbortOnDrop,
    ) -> Response<ResponseBody> {
        let length = response.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        // hyper's HTTP/1 keeps the field only when the body seems to have that length.
        let told =
            length.filter(|_| response.status() == StatusCode::NOT_MODIFIED && version < Version::HTTP_2);
        let left = if has_no_body(method, response.status()) || response.body().is_end_stream() {
            Some(0)
        } else {
            length
        };
        if left == Some(0) {
            task.disarm();
        }
        response.map(|written| {
            ResponseBody::Component(Self { written, left, told, outcome, breaking: None, task })
        })
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        loop {
            if let Some(breaking) = &mut self.breaking {
                return breaking.last_words.as_mut().poll(cx).map(|()| Some(Err(breaking.reason)));
            }
            // Asked before the body: everything written before a return is then in sight.
            let ended = !matches!(self.outcome.poll(cx), Outcome::Running(_) | Outcome::Shared(_));
            let reason = match Pin::new(&mut self.written).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.count(&frame);
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(None) if self.is_true_end(cx) => {
                    self.task.disarm();
                    return Poll::Ready(None);
                }
                Poll::Pending if !ended => return Poll::Pending,
                Poll::Ready(Some(Err(_))) if !matches!(self.outcome.poll(cx), Outcome::Trapped) => {
                    BrokenOff::Aborted
                }
                Poll::Ready(_) | Poll::Pending => BrokenOff::Unfinished,
            };
            self.breaking = Some(Breaking { reason, last_words: Box::pin(sleep(LAST_WORDS)) });
        }
    }

    fn is_true_end(&mut self, cx: &mut Context<'_>) -> bool {
        self.left.is_none_or(|left| left == 0) && !matches!(self.outcome.poll(cx), Outcome::Trapped)
    }

    fn count(&mut self, frame: &Frame<Bytes>) {
        let length = frame.data_ref().map_or(0, Bytes::len);
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
            if *left == 0 {
                self.task.disarm();
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.told.or(self.left).map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Answers that end with their head (RFC 9112 section 6.3): nobody will ask for the body.
fn has_no_body(method: &Method, status: StatusCode) -> bool {
    method == Method::HEAD
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || status.is_informational()
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Self::Whole(text) => Pin::new(text).poll_frame(cx).map_err(|never| match never {}),
            Self::Component(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(text) => text.is_end_stream(),
            Self::Component(body) => body.left == Some(0) && body.told.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => text.size_hint(),
            Self::Component(body) => body.size_hint(),
        }
    }
}
