//! What was seen of an exchange, and the rules that it must keep (contract 2.6 and 2.7). The ledger
//! counts for itself: time, attempts, hops, and every byte of the client's body.

use super::fence;
use messageweave_lb::policy::exchange::{Action, Answer, Destination, Event, Exchange, Wait};
use messageweave_lb::policy::failure::{Exhausted, Failure, FailureClass};
use messageweave_lb::policy::headers::HOP_BY_HOP;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upload::{Framing, UploadStep};

const MAX_HOPS: usize = 20;

/// What led to an action, as far as the rules ask.
pub(crate) enum Cause {
    Start,
    Head(u16),
    Failed(FailureClass),
    ClientFailed,
    Other,
}

impl Cause {
    pub(crate) const fn of(event: &Event) -> Self {
        match event {
            Event::Head(head) => Self::Head(head.status),
            Event::Failed(class) => Self::Failed(*class),
            Event::ClientFailed => Self::ClientFailed,
            _ => Self::Other,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Origin,
    Client,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Answered,
    Over,
}

struct Open {
    origin: Origin,
    body: bool,
    closed: bool,
    given: Vec<u8>,
}

pub(crate) struct Ledger<'s> {
    plan: Plan<'s>,
    dice: u64,
    now: Millis,
    turn: Turn,
    origin_spent: Millis,
    client_silent: Millis,
    chosen: Vec<&'s Origin>,
    hops: usize,
    requests: usize,
    open: Option<Open>,
    client: Vec<u8>,
    client_ended: bool,
    phase: Phase,
}

impl<'s> Ledger<'s> {
    pub(crate) fn new(plan: &Plan<'s>, dice: u64, now: Millis) -> Self {
        Self {
            dice,
            now,
            turn: Turn::Origin,
            origin_spent: Millis::ZERO,
            client_silent: Millis::ZERO,
            chosen: Vec::new(),
            hops: 0,
            requests: 0,
            open: None,
            client: Vec::new(),
            client_ended: plan.framing == Framing::Empty,
            phase: Phase::Running,
            plan: plan.clone(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase != Phase::Running
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Running && self.open.is_some()
    }

    /// Fills a chunk with the next bytes of the client's body: all different from their neighbours,
    /// so that a lost, doubled or moved byte shows.
    pub(crate) fn write_next(&self, chunk: &mut [u8]) {
        for (place, byte) in chunk.iter_mut().enumerate() {
            *byte = ((self.client.len() + place) % 251) as u8;
        }
    }

    /// Books an event before the exchange hears of it.
    pub(crate) fn before(&mut self, event: &Event, pending: &[u8], now: Millis) {
        let passed = now - self.now;
        self.now = now;
        match self.turn {
            Turn::Origin => self.origin_spent = self.origin_spent + passed,
            Turn::Client => self.client_silent = self.client_silent + passed,
        }
        match event {
            Event::Chunk(bytes) if !bytes.is_empty() => {
                self.client_silent = Millis::ZERO;
                if !self.client_ended {
                    self.client.extend_from_slice(bytes);
                }
            }
            Event::ClientEnded => {
                self.client_silent = Millis::ZERO;
                self.client_ended = true;
            }
            Event::Took(count) => self.give(&pending[..pending.len().min(*count)]),
            Event::UploadClosed | Event::Finished => self.close(),
            Event::ClientFailed if self.phase == Phase::Answered => self.close(),
            _ => {}
        }
    }

    /// Judges the action that followed.
    pub(crate) fn after(&mut self, action: &Action<'s>, cause: &Cause, exchange: &Exchange<'s>) {
        match action {
            Action::Wait(_) => self.assert_nothing_was_due(cause),
            _ => assert!(self.phase == Phase::Running, "a second end: {action:?}"),
        }
        match action {
            Action::Send => self.assert_request(cause, exchange),
            Action::Wait(_) => {}
            Action::Answer(answer) => self.assert_answer(answer, cause),
            Action::Exhausted(exhausted, _) => self.assert_exhausted(exhausted, cause),
            Action::Refuse(reply) => {
                match reply.status {
                    400 => assert!(matches!(cause, Cause::ClientFailed)),
                    408 => assert!(self.client_is_late()),
                    status => panic!("refused with {status}"),
                }
                self.phase = Phase::Over;
            }
        }
    }

    /// Judges what is waited for.
    pub(crate) fn waits(&mut self, wait: Wait, pending: &[u8]) {
        if self.phase == Phase::Over {
            assert_eq!(wait.upload, UploadStep::Idle);
            return;
        }
        let outlet = self.open.as_ref().filter(|open| open.body && !open.closed);
        let given = outlet.map_or(&[][..], |open| open.given.as_slice());
        match wait.upload {
            UploadStep::Idle => assert!(outlet.is_none() && self.open.is_some(), "an upload left alone"),
            UploadStep::Read => assert!(pending.is_empty() && !self.client_ended),
            UploadStep::Write => assert!(outlet.is_some() && !pending.is_empty()),
            UploadStep::Finish => assert!(outlet.is_some() && self.client_ended && pending.is_empty()),
        }
        if outlet.is_some() {
            assert_eq!([given, pending].concat(), self.client, "a request's body is the client's");
        }
        let (turn, limit, spent) = match wait.upload {
            UploadStep::Read => (Turn::Client, self.plan.settings.request_timeout, self.client_silent),
            _ => (Turn::Origin, self.plan.timeout, self.origin_spent),
        };
        assert_eq!(wait.until, self.now + (limit - spent), "one clock runs, for what is left of it");
        self.turn = turn;
    }

    fn give(&mut self, bytes: &[u8]) {
        if let Some(open) = self.open.as_mut().filter(|open| open.body && !open.closed) {
            open.given.extend_from_slice(bytes);
        }
    }

    fn close(&mut self) {
        if let Some(open) = &mut self.open {
            open.closed = true;
        }
    }

    fn assert_nothing_was_due(&self, cause: &Cause) {
        if self.phase == Phase::Running {
            assert!(!self.origin_is_late() && !self.client_is_late(), "a clock ran out unheard");
            let ends = matches!(cause, Cause::Head(_) | Cause::Failed(_) | Cause::ClientFailed);
            assert!(!(ends && self.open.is_some()), "what ends an attempt was not heard");
        }
    }

    fn assert_request(&mut self, cause: &Cause, exchange: &Exchange<'s>) {
        self.requests += 1;
        assert!(self.requests <= self.plan.attempts as usize * (1 + MAX_HOPS), "over the budget");
        let request = exchange.request();
        let origin = request.destination.origin();
        assert!(!request.body || request.method.carries_body(), "a GET with a body");
        match request.destination {
            Destination::Routed(_, target) => {
                self.assert_attempt(origin, cause);
                assert_eq!(*target, self.plan.target);
                assert_eq!(request.destination.path_with_query(), self.plan.target.path_with_query());
                assert_eq!(request.method, self.plan.target.method());
                assert_eq!(*request.headers, self.plan.headers);
                let empty = self.client_ended && self.client.is_empty();
                assert_eq!(request.body, !empty, "a body is replayed, never an empty one");
            }
            Destination::Hop(_) => {
                assert!(matches!(cause, Cause::Head(301 | 302 | 303 | 307 | 308)), "a hop out of nothing");
                self.hops += 1;
                assert!(self.hops <= MAX_HOPS);
                let from = self.open.as_ref().expect("a hop follows a request");
                let configured = self.plan.settings.origins();
                fence::assert_passable(origin, configured);
                fence::assert_travels(&from.origin, origin, request.headers, request.body, configured);
                assert!(!request.body || (from.body && self.is_kept()), "a body out of nothing");
            }
        }
        let body = request.body;
        self.open = Some(Open { origin: origin.clone(), body, closed: false, given: Vec::new() });
        self.turn = Turn::Origin;
    }

    /// The next origin of the order, after a failure that moves on.
    fn assert_attempt(&mut self, origin: &Origin, cause: &Cause) {
        let origins = self.plan.origins;
        let count = origins.len() as u64;
        let random = count > 1 && self.plan.attempts > 1;
        let start = if random { self.dice % count } else { 0 };
        let expected = &origins[((start + self.chosen.len() as u64) % count) as usize];
        assert_eq!(origin, expected, "list order, wrapping");
        assert!(!self.chosen.contains(&expected), "the same origin twice");
        assert!(self.chosen.len() < self.plan.attempts as usize);
        if self.open.is_some() {
            let failure = self.failure(cause).expect("only a failure moves on");
            assert!(moves_on(failure), "{failure:?} moved on");
            assert!(self.is_kept(), "moved on without a whole copy");
        }
        self.chosen.push(expected);
        self.hops = 0;
        self.origin_spent = Millis::ZERO;
    }

    /// An origin that is heard now has its whole clock to be silent.
    pub(crate) fn assert_silence(&self, until: Millis, now: Millis) {
        assert_eq!(until, now + self.plan.timeout);
    }

    fn assert_answer(&mut self, answer: &Answer<'s>, cause: &Cause) {
        assert!(matches!(cause, Cause::Head(status) if *status == answer.status));
        assert!((200..500).contains(&answer.status));
        assert_eq!(Some(&answer.backend), self.chosen.last());
        let names: Vec<_> = answer.headers.as_slice().iter().map(|(name, _)| name.as_str()).collect();
        let forbidden =
            |name: &&str| HOP_BY_HOP.contains(name) || ["x-lb-backend", "x-nominated"].contains(name);
        assert!(!names.iter().any(forbidden), "{names:?}");
        assert!(names.contains(&"set-cookie"));
        self.phase = Phase::Answered;
    }

    fn assert_exhausted(&mut self, exhausted: &Exhausted<'s>, cause: &Cause) {
        assert_eq!(Some(&exhausted.origin), self.chosen.last(), "the origin that was chosen");
        let failure = self.failure(cause).expect("exhausted by nothing");
        assert_eq!(exhausted.failure, failure);
        let could_move = moves_on(failure) && self.is_kept();
        assert!(!could_move || self.chosen.len() == self.plan.attempts as usize, "gave up early");
        self.phase = Phase::Over;
    }

    /// What the open request did wrong.
    fn failure(&self, cause: &Cause) -> Option<Failure> {
        Some(match cause {
            Cause::Failed(class) => Failure::Class(*class),
            Cause::Head(status @ 500..) => Failure::Status(*status),
            Cause::Head(0..200) => Failure::Class(FailureClass::Protocol),
            Cause::Head(301 | 302 | 303 | 307 | 308) if self.hops == MAX_HOPS => {
                Failure::Class(FailureClass::Protocol)
            }
            Cause::Other if self.origin_is_late() => Failure::Class(FailureClass::Timeout),
            Cause::Start | Cause::Head(_) | Cause::ClientFailed | Cause::Other => return None,
        })
    }

    fn is_kept(&self) -> bool {
        self.client.len() <= self.plan.settings.replay_max_bytes
    }

    fn origin_is_late(&self) -> bool {
        self.turn == Turn::Origin && self.origin_spent >= self.plan.timeout
    }

    fn client_is_late(&self) -> bool {
        self.turn == Turn::Client && self.client_silent >= self.plan.settings.request_timeout
    }
}

fn moves_on(failure: Failure) -> bool {
    use FailureClass::{Internal, Invalid, Prohibited};
    !matches!(failure, Failure::Class(Prohibited | Invalid | Internal))
}
