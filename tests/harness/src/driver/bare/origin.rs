//! Origins on the virtual clock: the same scripts, at the level of heads and body bytes. Which
//! failure class a fault is stands here as the shells of real hosts report it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use messageweave_lb::policy::exchange::{Request, ResponseHead};
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::headers::Headers;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::world::World;
use crate::case::{
    Body, ConnectionFault, Ending, Piece, RequestFault, ResponseFraming, SeenFraming, Turn, Unreached,
};
use crate::evidence::{Content, Progress, Recorded};
use crate::origin::{Recorder, answer_lines, has_no_body};

/// An open request. Dropping it closes it.
pub(super) struct Upstream {
    pub(super) head: oneshot::Receiver<Result<Answered, FailureClass>>,
    /// The body on its way; `None` in it is its end.
    pub(super) upload: Option<mpsc::Sender<Option<Vec<u8>>>>,
    task: Option<JoinHandle<()>>,
}

/// A whole response head, and its body to come.
pub(super) struct Answered {
    pub(super) head: ResponseHead,
    pub(super) body: mpsc::Receiver<FromOrigin>,
}

pub(super) enum FromOrigin {
    Bytes(Vec<u8>),
    Ended,
    Broken,
}

type Head = oneshot::Sender<Result<Answered, FailureClass>>;

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Upstream {
    /// Opens a request, or meets what the origin does to connections.
    pub(super) fn open(world: &World, request: Request<'_>) -> Result<Self, FailureClass> {
        let url = request.destination.origin().as_str();
        let Some((origin, script)) = world.origin(url) else {
            world.recorder.complain(url, "is contacted, but the case has no such origin");
            return Err(FailureClass::Dns);
        };
        match origin.connect {
            None => {}
            Some(Unreached::Refused) => return Err(FailureClass::Refused),
            Some(Unreached::Unreachable) => return Err(FailureClass::Unreachable),
            Some(Unreached::Unresolvable) => return Err(FailureClass::Dns),
        }
        let (sender, head) = oneshot::channel();
        if let Some(fault) = script.borrow_mut().connection_fault() {
            let class = connection_failure(fault);
            let task = tokio::task::spawn_local(fail(sender, class));
            return Ok(Self { head, upload: None, task: Some(task) });
        }
        let body = request.body;
        let number = world.recorder.begin(recorded(&request));
        let Some(turn) = script.borrow_mut().request() else {
            world.recorder.complain(url, "a request beyond the script");
            return Err(FailureClass::Reset);
        };
        // Four chunks are under way before the origin reads: the network's buffers.
        let (upload, incoming) = mpsc::channel(4);
        let incoming = Incoming {
            body: incoming,
            recorder: world.recorder.clone(),
            number,
            received: 0,
            whole: !body,
            answered: Rc::default(),
            echo: turn.echo.then(Vec::new),
        };
        let task = tokio::task::spawn_local(play(turn, incoming, sender));
        Ok(Self { head, upload: body.then_some(upload), task: Some(task) })
    }
}

fn recorded(request: &Request<'_>) -> Recorded {
    let origin = request.destination.origin();
    let mut headers = vec![("host".to_owned(), origin.authority().as_bytes().to_vec())];
    headers.extend_from_slice(request.headers.as_slice());
    let framing = if headers.iter().any(|(name, _)| name == "content-length") {
        SeenFraming::ContentLength
    } else if request.body {
        SeenFraming::Chunked
    } else {
        SeenFraming::None
    };
    Recorded {
        origin: origin.as_str().to_owned(),
        method: request.method.as_str().to_owned(),
        target: request.destination.path_with_query().as_bytes().to_vec(),
        headers,
        framing,
        body: Content::default(),
        progress: if request.body { Progress::Open } else { Progress::Complete },
        abandoned: false,
    }
}

fn connection_failure(fault: ConnectionFault) -> Option<FailureClass> {
    match fault {
        ConnectionFault::Silent => None,
        ConnectionFault::Reset | ConnectionFault::Close => Some(FailureClass::Reset),
        ConnectionFault::WrongName
        | ConnectionFault::SelfSigned
        | ConnectionFault::Expired
        | ConnectionFault::PlainHttp => Some(FailureClass::Tls),
    }
}

fn request_failure(fault: RequestFault) -> Option<FailureClass> {
    match fault {
        RequestFault::Silence | RequestFault::HalfHeadSilence => None,
        RequestFault::Garbage => Some(FailureClass::Protocol),
        RequestFault::Reset
        | RequestFault::Close
        | RequestFault::HalfHead
        | RequestFault::HalfHeadReset
        | RequestFault::Goaway
        | RequestFault::RefusedStream
        | RequestFault::RstStream => Some(FailureClass::Reset),
    }
}

async fn fail(head: Head, class: Option<FailureClass>) {
    match class {
        Some(class) => drop(head.send(Err(class))),
        None => std::future::pending().await,
    }
}

async fn play(turn: Turn, mut incoming: Incoming, head: Head) {
    incoming.read(turn.read_bytes.unwrap_or(u64::MAX)).await;
    sleep(Duration::from_millis(turn.delay_ms)).await;
    let Some(status) = turn.status else {
        let class = turn.fault.and_then(request_failure);
        incoming.answered.set(class.is_some());
        return fail(head, class).await;
    };
    let echo = incoming.echo.take();
    let echoed = echo.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let headers = Headers::new(answer_lines(&turn, echoed, false));
    let (sender, body) = mpsc::channel(4);
    let _ = head.send(Ok(Answered { head: ResponseHead { status, headers }, body }));
    let echo = echo.map(|bytes| Body(vec![Piece::Bytes(bytes)]));
    let answered = incoming.answered.clone();
    let answering = async {
        let event = send_body(&turn, echo.as_ref().or(turn.body.as_ref()), &sender).await;
        let _ = sender.send(event).await;
        answered.set(true);
    };
    if turn.drain {
        tokio::join!(answering, incoming.read(u64::MAX));
    } else {
        answering.await;
        std::future::pending().await
    }
}

async fn send_body(turn: &Turn, body: Option<&Body>, out: &mpsc::Sender<FromOrigin>) -> FromOrigin {
    let Some(body) = body.filter(|_| !has_no_body(turn)) else { return FromOrigin::Ended };
    for piece in &body.0 {
        match piece {
            Piece::Pause(time) => sleep(Duration::from_millis(*time)).await,
            Piece::End(Ending::Stall) => std::future::pending().await,
            Piece::End(Ending::Close) if turn.framing == ResponseFraming::Close => break,
            Piece::End(Ending::Close | Ending::Reset) => return FromOrigin::Broken,
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(64 * 1024) {
                    let _ = out.send(FromOrigin::Bytes(run)).await;
                }
            }
        }
    }
    if turn.length.is_some_and(|length| length > body.len()) {
        std::future::pending().await
    }
    FromOrigin::Ended
}

/// The body of the request, on its way into the record.
struct Incoming {
    body: mpsc::Receiver<Option<Vec<u8>>>,
    recorder: Rc<Recorder>,
    number: usize,
    received: u64,
    whole: bool,
    /// Whether the turn came to the end that the script gives it.
    answered: Rc<Cell<bool>>,
    echo: Option<Vec<u8>>,
}

impl Incoming {
    /// Reads to the end, or until `enough` bytes came.
    async fn read(&mut self, enough: u64) {
        while !self.whole && self.received < enough {
            match self.body.recv().await {
                Some(Some(bytes)) => {
                    self.received += bytes.len() as u64;
                    self.recorder.body(self.number, &bytes);
                    if let Some(echo) = &mut self.echo {
                        echo.extend_from_slice(&bytes);
                    }
                }
                Some(None) => {
                    self.whole = true;
                    self.recorder.end(self.number, Progress::Complete);
                }
                // The rest will never come; whoever cut it drops the request too.
                None => return std::future::pending().await,
            }
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.recorder.end(self.number, Progress::Broken);
        if !self.answered.get() {
            self.recorder.abandon(self.number);
        }
    }
}
