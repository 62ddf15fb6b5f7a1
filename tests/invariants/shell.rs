//! A shell without a host: it tells an exchange what happened and lets the ledger judge.

use super::ledger::{Cause, Ledger};
use messageweave_lb::policy::exchange::{Action, Event, Exchange, Wait};
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upload::UploadStep;

pub(crate) struct Shell<'s> {
    exchange: Exchange<'s>,
    ledger: Ledger<'s>,
    now: Millis,
    /// Nothing while a request is sent and not yet opened.
    wait: Option<Wait>,
    /// Whether events come that cannot happen.
    hostile: bool,
}

impl<'s> Shell<'s> {
    pub(crate) fn start(plan: Plan<'s>, dice: u64, hostile: bool) -> Self {
        let now = Millis(1000);
        let ledger = Ledger::new(&plan, dice, now);
        let (exchange, action) = Exchange::start(plan, now, dice).expect("a plan has an origin");
        let mut shell = Self { exchange, ledger, now, wait: None, hostile };
        shell.obey(action, &Cause::Start);
        shell
    }

    pub(crate) fn let_pass(&mut self, millis: u64) {
        self.now = self.now + Millis(millis);
    }

    pub(crate) fn pending(&self) -> usize {
        self.exchange.pending().len()
    }

    /// Reports the event if it can happen now, or in any case where the shell is hostile.
    pub(crate) fn report(&mut self, mut event: Event) {
        if !self.hostile && !self.can_happen(&event) {
            return;
        }
        match &mut event {
            Event::Elapsed if !self.hostile => {
                self.now = self.now.max(self.wait.map_or(self.now, |wait| wait.until));
            }
            Event::Chunk(bytes) => self.ledger.write_next(bytes),
            _ => {}
        }
        self.tell(event);
    }

    /// Nobody does anything any more: the clocks alone bring the exchange to its end.
    pub(crate) fn run_out(&mut self) {
        for _ in 0..200 {
            if self.ledger.is_over() {
                return;
            }
            let event = match self.wait {
                None => Event::Opened,
                Some(Wait { upload: UploadStep::Finish, .. }) => Event::Finished,
                Some(Wait { until, .. }) => {
                    self.now = self.now.max(until);
                    Event::Elapsed
                }
            };
            self.tell(event);
        }
        panic!("an exchange without an end");
    }

    fn tell(&mut self, event: Event) {
        let cause = Cause::of(&event);
        self.ledger.before(&event, self.exchange.pending(), self.now);
        let action = self.exchange.on(event, self.now);
        self.ledger.assert_silence(self.exchange.silent_at(self.now), self.now);
        self.obey(action, &cause);
    }

    fn obey(&mut self, action: Action<'s>, cause: &Cause) {
        let wait = match &action {
            Action::Send => None,
            Action::Wait(wait) => Some(*wait),
            Action::Answer(_) | Action::Exhausted(..) | Action::Refuse(_) => Some(self.exchange.waiting()),
        };
        self.ledger.after(&action, cause, &self.exchange);
        if let Some(wait) = wait {
            self.ledger.waits(wait, self.exchange.pending());
        }
        self.wait = wait;
    }

    fn can_happen(&self, event: &Event) -> bool {
        let Some(Wait { upload, .. }) = self.wait else {
            return matches!(event, Event::Opened | Event::Failed(_));
        };
        match event {
            Event::Opened => false,
            Event::Head(_) | Event::Failed(_) => self.ledger.is_open(),
            Event::Took(count) => upload == UploadStep::Write && (1..=self.pending()).contains(count),
            Event::UploadClosed => upload == UploadStep::Write,
            Event::Finished => upload == UploadStep::Finish,
            Event::Chunk(bytes) => upload == UploadStep::Read && !bytes.is_empty(),
            Event::ClientEnded | Event::ClientFailed => upload == UploadStep::Read,
            Event::Elapsed => true,
        }
    }
}
