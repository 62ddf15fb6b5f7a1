//! One forwarded request from its plan to its answer: attempts, failover, redirects, replay
//! (contract 2.6 and 2.7). Sans-I/O: one event in, one action out; the shell does what the action
//! says and reports what happened.
//!
//! ```text
//! start ─► Send ─► [AwaitingHead] ─ head below 500 ─────────► Answer ─► [Answered] (upload goes on)
//!   │       ▲        │  │  └ usable redirect ─► Send (next hop, same attempt)
//!   │       │        │  └ failure, timeout, >= 500 ─► Send (next origin) or Exhausted ─► [Over]
//!   │       │        └ client silent ─► Refuse 408, client gone ─► Refuse 400 ─► [Over]
//!   └─ length unknown ─► [AwaitingFirstBytes] ─ first bytes or the end ─► Send
//! ```

mod clock;
mod message;
#[cfg(test)]
mod tests;

pub use message::{Action, Answer, BACKEND_FIELD, Destination, Event, Request, ResponseHead, Wait};

use super::event::{Attempt, Event as LogEvent};
use super::failure::{Exhausted, Failure, FailureClass};
use super::method::Method;
use super::origin::Origin;
use super::plan::Plan;
use super::redirect::{self, Hop, MAX_HOPS, Redirected};
use super::reply::Reply;
use super::time::Millis;
use super::upload::{Framing, Upload, UploadStep};
use clock::{Clock, Turn};

/// The largest response head, names and values together, in bytes.
pub const MAX_HEAD_BYTES: usize = 128 * 1024;
/// The most fields of a response head.
pub const MAX_HEAD_FIELDS: usize = 2000;

const OUT_OF_MEMORY: Failure = Failure::Class(FailureClass::Internal);

/// The machine.
#[derive(Debug)]
pub struct Exchange<'s> {
    plan: Plan<'s>,
    /// The origin of the running attempt.
    origin: &'s Origin,
    /// The origins of the attempts to come.
    next: Vec<&'s Origin>,
    /// The hop that is under way, if the running attempt was redirected.
    hop: Option<Hop>,
    hops: u32,
    upload: Upload,
    clock: Clock,
    /// When the upload last went on behind the answer's head.
    upload_moved: Millis,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is open: the client's first bytes decide how the request is framed.
    AwaitingFirstBytes,
    /// A request is open.
    AwaitingHead,
    /// The response is on its way to the client; the rest of the upload may follow.
    Answered,
    /// Nothing more will happen.
    Over,
}

impl<'s> Exchange<'s> {
    /// Begins a plan. `dice` picks the first origin where the order is random. Nothing without an
    /// origin, which admission rules out.
    #[must_use]
    pub fn start(plan: Plan<'s>, now: Millis, dice: u64) -> Option<(Self, Action<'s>)> {
        let mut order = plan.order(dice);
        let origin = order.next()?;
        let mut next: Vec<_> = order.collect();
        next.reverse();
        let mut exchange = Self {
            origin,
            next,
            hop: None,
            hops: 0,
            upload: Upload::new(plan.framing, plan.replay_max_bytes),
            clock: Clock::new(now, plan.timeout, plan.settings.request_timeout),
            upload_moved: Millis::ZERO,
            state: State::AwaitingFirstBytes,
            plan,
        };
        let action = match exchange.plan.framing {
            Framing::Unknown => exchange.wait(),
            Framing::Empty | Framing::Length => exchange.send(),
        };
        Some((exchange, action))
    }

    /// The request to send.
    #[must_use]
    pub fn request(&self) -> Request<'_> {
        match &self.hop {
            None => Request {
                method: self.plan.target.method(),
                destination: Destination::Routed(self.origin, &self.plan.target),
                headers: &self.plan.headers,
                body: !self.upload.is_empty(),
                silence: self.plan.timeout,
            },
            Some(hop) => Request {
                method: hop.method,
                destination: Destination::Hop(&hop.target),
                headers: &hop.headers,
                body: hop.body,
                silence: self.plan.timeout,
            },
        }
    }

    /// The bytes that the open request should take next.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        self.upload.pending()
    }

    /// What to wait for now; after the answer, this alone drives the rest of the upload.
    pub fn waiting(&mut self) -> Wait {
        let upload = self.step();
        self.clock.wait_for(match upload {
            UploadStep::Read => Turn::Client,
            UploadStep::Idle | UploadStep::Write | UploadStep::Finish => Turn::Origin,
        });
        Wait { upload, until: self.clock.deadline() }
    }

    /// When an origin whose answer was last heard at that instant has been silent for too long. One that is
    /// still being sent the upload is not silent: it may answer as it reads (contract 2.6).
    #[must_use]
    pub fn silent_at(&self, heard: Millis) -> Millis {
        heard.max(self.upload_moved) + self.plan.timeout
    }

    /// Takes one event and says what to do.
    pub fn on(&mut self, event: Event, now: Millis) -> Action<'s> {
        self.clock.advance(now);
        let event = match event {
            // No sign of life: a client that sends nothing is silent.
            Event::Chunk(chunk) if chunk.is_empty() => Event::Elapsed,
            event => event,
        };
        match self.state {
            State::AwaitingHead => self.on_while_open(event),
            State::AwaitingFirstBytes => self.on_first_bytes(event),
            State::Answered => self.on_while_answering(event),
            State::Over => self.wait(),
        }
    }

    fn on_first_bytes(&mut self, event: Event) -> Action<'s> {
        match event {
            Event::Chunk(_) | Event::ClientEnded => match self.take_from_client(event) {
                true => self.send(),
                false => self.fail(OUT_OF_MEMORY),
            },
            Event::ClientFailed => self.refuse(Reply::broken_body()),
            _ if self.clock.expired().is_some() => self.refuse(Reply::client_timeout()),
            _ => self.wait(),
        }
    }

    fn on_while_open(&mut self, event: Event) -> Action<'s> {
        match event {
            Event::Head(head) => return self.on_head(head),
            Event::Failed(class) => return self.fail(Failure::Class(class)),
            Event::ClientFailed => return self.refuse(Reply::broken_body()),
            Event::Took(count) => self.upload.took(count),
            Event::UploadClosed | Event::Finished => self.upload.close(),
            Event::Chunk(_) | Event::ClientEnded => {
                if !self.take_from_client(event) {
                    return self.fail(OUT_OF_MEMORY);
                }
            }
            Event::Opened | Event::Elapsed => {}
        }
        match self.clock.expired() {
            Some(Turn::Client) => self.refuse(Reply::client_timeout()),
            Some(Turn::Origin) => self.fail(Failure::Class(FailureClass::Timeout)),
            None => self.wait(),
        }
    }

    /// The answer is given: nothing can fail over any more, only the upload still matters.
    fn on_while_answering(&mut self, event: Event) -> Action<'s> {
        if matches!(event, Event::Took(1..) | Event::Chunk(_) | Event::ClientEnded) {
            self.upload_moved = self.clock.now();
        }
        match event {
            Event::Took(count) => self.upload.took(count),
            Event::UploadClosed | Event::Finished | Event::ClientFailed => self.upload.close(),
            Event::Chunk(_) | Event::ClientEnded => {
                if !self.take_from_client(event) {
                    self.upload.close();
                }
            }
            Event::Opened | Event::Head(_) | Event::Failed(_) | Event::Elapsed => {}
        }
        self.wait()
    }

    /// False when there was no memory for what the client sent.
    fn take_from_client(&mut self, event: Event) -> bool {
        self.clock.client_spoke();
        match event {
            Event::Chunk(chunk) => self.upload.keep(chunk),
            _ => {
                self.upload.end();
                true
            }
        }
    }

    fn on_head(&mut self, head: ResponseHead) -> Action<'s> {
        let (bytes, fields) = head.headers.size();
        if bytes > MAX_HEAD_BYTES || fields > MAX_HEAD_FIELDS {
            return self.fail(Failure::Class(FailureClass::Limit));
        }
        if let Some(failure) = Failure::of_status(head.status) {
            return self.fail(failure);
        }
        match self.redirected(&head) {
            Some(_) if self.hops == MAX_HOPS => self.fail(Failure::Class(FailureClass::Protocol)),
            Some(hop) => {
                self.hops += 1;
                self.hop = Some(hop);
                self.send()
            }
            None => self.answer(head),
        }
    }

    fn redirected(&self, head: &ResponseHead) -> Option<Hop> {
        let Request { method, destination, headers, body, .. } = self.request();
        let request = Redirected {
            origin: destination.origin(),
            path_with_query: destination.path_with_query(),
            method,
            headers,
            body,
            replayable: self.upload.is_replayable(),
        };
        let follow = if self.plan.confined { redirect::follow_configured } else { redirect::follow };
        follow(head.status, &head.headers, request, self.plan.settings.origins())
    }

    fn answer(&mut self, head: ResponseHead) -> Action<'s> {
        let has_body = self.request().method != Method::Head && !matches!(head.status, 204 | 304);
        self.state = State::Answered;
        self.upload.forget();
        let mut headers = head.headers;
        headers.drop_hop_by_hop();
        headers.retain(|name| name != BACKEND_FIELD);
        if let Some(usage) = self.plan.usage {
            usage.set(&mut headers);
        }
        Action::Answer(Answer { status: head.status, headers, backend: self.origin, has_body })
    }

    /// Ends the attempt: on to the next origin where that is allowed, else the `503`.
    fn fail(&mut self, failure: Failure) -> Action<'s> {
        let exhausted = Exhausted { origin: self.origin, failure };
        LogEvent::AttemptFailed(Attempt::new(&self.plan.target, &exhausted)).emit();
        if failure.moves_on()
            && self.upload.is_replayable()
            && let Some(origin) = self.next.pop()
        {
            self.origin = origin;
            self.hop = None;
            self.hops = 0;
            self.clock.restart(self.plan.timeout);
            return self.send();
        }
        if !self.plan.probe {
            LogEvent::RequestExhausted(Attempt::new(&self.plan.target, &exhausted)).emit();
        }
        self.state = State::Over;
        Action::Exhausted(exhausted, Reply::exhausted(&exhausted).with_usage(self.plan.usage))
    }

    fn send(&mut self) -> Action<'s> {
        self.state = State::AwaitingHead;
        let with_body = self.request().body;
        self.upload.reopen(with_body);
        self.clock.wait_for(Turn::Origin);
        Action::Send
    }

    fn refuse(&mut self, reply: Reply) -> Action<'s> {
        self.state = State::Over;
        Action::Refuse(reply.with_usage(self.plan.usage))
    }

    fn wait(&mut self) -> Action<'s> {
        Action::Wait(self.waiting())
    }

    fn step(&self) -> UploadStep {
        match self.state {
            State::AwaitingFirstBytes => UploadStep::Read,
            State::AwaitingHead | State::Answered => self.upload.step(),
            State::Over => UploadStep::Idle,
        }
    }
}
