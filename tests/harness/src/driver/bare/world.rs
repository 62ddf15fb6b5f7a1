//! What the steps of one case share: clock, configuration, dice, health cache, origins.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use messageweave_lb::policy::health::HealthCache;
use messageweave_lb::policy::limit::gate::Gate;
use messageweave_lb::policy::limit::limiter::Limiter;
use messageweave_lb::policy::limit::window::Hit;
use messageweave_lb::policy::origin::Origin as Configured;
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::case::{Case, Origin};
use crate::origin::{Recorder, Script, unused_turns};

/// Midnight, so that windows begin with the case.
const DAWN: Millis = Millis(1_699_920_000_000);

pub(super) struct World {
    pub(super) settings: Settings,
    pub(super) recorder: Rc<Recorder>,
    /// Requests to one instance: who probes, probes alone.
    pub(super) health: Mutex<HealthCache>,
    origins: BTreeMap<String, (Origin, RefCell<Script>)>,
    limiter: RefCell<Limiter>,
    /// The time of day when the clock of the case began to run.
    dawn: Cell<Millis>,
    begun: Instant,
    dice: u64,
    first: RefCell<Option<String>>,
    forwarded: Cell<u64>,
}

impl World {
    pub(super) fn new(case: &Case, dice: u64) -> Self {
        let origins = case
            .origin
            .iter()
            .map(|origin| (origin.url.clone(), (origin.clone(), RefCell::new(Script::new(origin)))));
        let settings = Settings::from_vars(|name| case.env.get(name).cloned());
        settings.announce();
        Self {
            limiter: RefCell::new(Limiter::new([dice, DAWN.0], settings.max_entries())),
            dawn: Cell::new(DAWN),
            settings,
            recorder: Rc::default(),
            health: Mutex::new(HealthCache::new()),
            origins: origins.collect(),
            begun: Instant::now(),
            dice,
            first: RefCell::new(case.first.clone()),
            forwarded: Cell::new(0),
        }
    }

    pub(super) fn now(&self) -> Millis {
        Millis(u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn count(&self, gate: &Gate<'_>) -> Hit {
        self.limiter.borrow_mut().count(gate, self.dawn.get() + self.now())
    }

    pub(super) fn step_clock(&self, by: i64) {
        self.dawn.set(Millis(self.dawn.get().0.saturating_add_signed(by)));
    }

    pub(super) fn at(&self, time: Millis) -> Instant {
        self.begun + std::time::Duration::from_millis(time.0)
    }

    pub(super) fn origin(&self, url: &str) -> Option<&(Origin, RefCell<Script>)> {
        self.origins.get(url)
    }

    /// The dice for a plan: what makes the first request start where the case says.
    pub(super) fn dice(&self, plan: &Plan<'_>) -> u64 {
        let Some(first) = self.first.take() else {
            self.forwarded.set(self.forwarded.get() + 1);
            return self.dice.wrapping_add(self.forwarded.get() - 1);
        };
        let starts = |dice: &u64| plan.order(*dice).next().map(Configured::as_str) == Some(&first);
        (0..64).find(starts).unwrap_or_else(|| {
            self.recorder.complain(&first, "is the first of no order");
            0
        })
    }

    pub(super) fn unused(&self) -> Vec<String> {
        let origins = self.origins.iter();
        origins.filter_map(|(url, (_, script))| unused_turns(url, script.borrow().unused())).collect()
    }
}
