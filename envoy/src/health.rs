//! `/healthz-worker`: the policy's exchange runs each probe over a callout (contract 2.8).
//!
//! Probes belong to the plugin, not to the request that asked: a client that leaves takes nothing
//! with it. Verdicts are shared by all workers, and so is a lease: a round of probes never starts
//! while one is in flight, whoever asks. Who waits looks again a few times a second.

use crate::cluster::Connecting;
use crate::environment::settings;
use crate::failure::Account;
use crate::hostcalls::{self, Section};
use crate::wiring::ANSWERED_FIELD;
use messageweave_lb::policy::exchange::{Action, Event, Exchange, ResponseHead};
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::health::accept::Form;
use messageweave_lb::policy::health::{HealthCache, Step, Verdict};
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::time::Millis;
use proxy_wasm::types::Status;

/// How often those who wait look again.
pub(crate) const HEALTH_PERIOD: Millis = Millis(10);
/// A round that takes longer than its probes may has died with its worker: this late a busy one still looks at
/// its clock.
const LEASE_SLACK: Millis = Millis(500);
const LEASE: &str = "lb.health.lease";
const FREE: &[u8] = b"0";

/// The probes of one worker, and the streams that wait for verdicts.
pub(crate) struct Probes {
    /// The plugin that is called now.
    root: u32,
    waiting: Vec<Waiting>,
    running: Vec<Probe>,
}

/// A stream, since when it waits, and what it wants to see.
#[derive(Clone, Copy)]
struct Waiting {
    stream: u32,
    since: Millis,
    form: Form,
}

struct Probe {
    place: usize,
    /// The plugin that asks: its callouts go with it.
    root: u32,
    token: u32,
    exchange: Exchange<'static>,
    until: Millis,
}

/// Makes the lease, if no worker has yet.
pub(crate) fn prepare() {
    if hostcalls::shared(LEASE).0.is_none() {
        let _ = hostcalls::share(LEASE, FREE, None);
    }
}

impl Probes {
    pub(crate) const fn new() -> Self {
        Self { root: 0, waiting: Vec::new(), running: Vec::new() }
    }

    /// The view, if every verdict is good for a request that came at `since`.
    pub(crate) fn known(&self, since: Millis, form: Form) -> Option<Reply> {
        let mut cache = cache();
        let step = cache.step(settings(), since, hostcalls::now());
        (step == Step::View).then(|| cache.view(settings(), form))
    }

    /// A stream waits for verdicts since then.
    pub(crate) fn wait_for(&mut self, stream: u32, since: Millis, form: Form) {
        self.waiting.push(Waiting { stream, since, form });
    }

    /// Answers whoever can be answered, or starts a round. Says whether to come back.
    pub(crate) fn tick(&mut self, root: u32) -> bool {
        self.root = root;
        self.overdue();
        self.reply_to_waiting();
        if let Some(Waiting { since, .. }) = self.waiting.first().copied()
            && self.running.is_empty()
            && take_lease()
        {
            self.start(since);
        }
        !(self.waiting.is_empty() && self.running.is_empty())
    }

    fn start(&mut self, since: Millis) {
        // Another worker may have been quicker between the look and the lease.
        let due = match cache().step(settings(), since, hostcalls::now()) {
            Step::Probe(places) => places,
            Step::Wait | Step::View => Vec::new(),
        };
        for place in due {
            let plan = settings().origins().get(place).map(|origin| Plan::probe(settings(), origin));
            let started = plan.and_then(|mut plan| {
                plan.confined = true;
                Exchange::start(plan, hostcalls::now(), 0)
            });
            if let Some((exchange, action)) = started {
                let probe = Probe { place, root: self.root, token: 0, exchange, until: Millis::ZERO };
                self.perform(probe, action);
            }
        }
        self.release();
    }

    /// Performs a probe's actions until it waits or ends.
    fn perform(&mut self, mut probe: Probe, mut action: Action<'static>) {
        loop {
            if let Some(verdict) = Verdict::of(&action) {
                return record(probe.place, verdict);
            }
            let event = match action {
                Action::Send => match probe.send() {
                    Ok(()) => Event::Opened,
                    Err(class) => Event::Failed(class),
                },
                Action::Wait(wait) => {
                    probe.until = wait.until;
                    return self.running.push(probe);
                }
                Action::Answer(_) | Action::Exhausted(..) | Action::Refuse(_) => return,
            };
            action = probe.exchange.on(event, hostcalls::now());
        }
    }

    /// A callout has come back, with no fields when it has failed.
    pub(crate) fn answered(&mut self, root: u32, token: u32, fields: usize, body: usize) {
        self.root = root;
        let Some(at) = self.running.iter().position(|probe| probe.token == token) else {
            return;
        };
        let mut probe = self.running.swap_remove(at);
        let event = response(fields, body).map_or_else(Event::Failed, Event::Head);
        let action = probe.exchange.on(event, hostcalls::now());
        self.perform(probe, action);
        self.release();
        if self.running.is_empty() {
            self.reply_to_waiting();
        }
    }

    /// The exchange has the clock, over all hops of a probe; what a callout brings later is of no use.
    fn overdue(&mut self) {
        let now = hostcalls::now();
        let (late, running) = self.running.drain(..).partition(|probe| probe.until <= now);
        self.running = running;
        let mut late: Vec<Probe> = late;
        if late.is_empty() {
            return;
        }
        // An origin is not to blame for a plugin that is gone.
        late.retain(|probe| hostcalls::act_for(probe.root).is_ok());
        let _ = hostcalls::act_for(self.root);
        for mut probe in late {
            let action = probe.exchange.on(Event::Elapsed, now);
            self.perform(probe, action);
        }
        self.release();
    }

    fn release(&self) {
        if self.running.is_empty() {
            let _ = hostcalls::share(LEASE, FREE, None);
        }
    }

    fn reply_to_waiting(&mut self) {
        let look = |waiting: &Waiting| self.known(waiting.since, waiting.form);
        let views: Vec<_> = self.waiting.iter().map(look).collect();
        for (waiting, view) in std::mem::take(&mut self.waiting).into_iter().zip(views) {
            match view {
                None => self.waiting.push(waiting),
                Some(view) => {
                    // A stream that is gone has no context.
                    if hostcalls::act_for(waiting.stream).is_ok() {
                        let _ = hostcalls::reply(&view);
                    }
                }
            }
        }
        let _ = hostcalls::act_for(self.root);
    }
}

impl Probe {
    fn send(&mut self) -> Result<(), FailureClass> {
        let request = self.exchange.request();
        let origin = request.destination.origin();
        let place = settings().origins().iter().position(|known| known == origin);
        let place = place.ok_or(FailureClass::Internal)?;
        let headers = [
            (":method", request.method.as_str()),
            (":scheme", "https"),
            (":authority", origin.authority()),
            (":path", request.destination.path_with_query()),
        ];
        // The exchange keeps the clock; Envoy's only ends what nobody waits for any more.
        match hostcalls::dispatch(&Connecting::ORDINARY.member(place), &headers, settings().request_timeout) {
            Ok(token) => self.token = token,
            // Envoy knows no address.
            Err(_) => return Err(FailureClass::Dns),
        }
        Ok(())
    }
}

/// The head of a callout's response, or why there is none.
fn response(fields: usize, body: usize) -> Result<ResponseHead, FailureClass> {
    let fields = match fields {
        0 => return Err(FailureClass::Reset),
        _ => hostcalls::fields(Section::Callout),
    };
    let find = |name: &str| fields.iter().find(|(known, _)| known == name);
    if find(ANSWERED_FIELD).is_none() {
        return Err(Account { details: hostcalls::callout_body(body), ..Account::default() }.class());
    }
    let status = find(":status").and_then(|(_, status)| std::str::from_utf8(status).ok()?.parse().ok());
    let status = status.ok_or(FailureClass::Protocol)?;
    Ok(ResponseHead { status, headers: hostcalls::plain(fields) })
}

/// The lease is a time until which it is held.
fn take_lease() -> bool {
    let (held, version) = hostcalls::shared(LEASE);
    let until =
        held.and_then(|held| std::str::from_utf8(&held).ok()?.parse().ok()).map_or(Millis::ZERO, Millis);
    let now = hostcalls::now();
    if version.is_none() || until > now {
        return false;
    }
    let until = now + settings().request_timeout + LEASE_SLACK;
    hostcalls::share(LEASE, until.0.to_string().as_bytes(), version) != Err(Status::CasMismatch)
}

/// `<place's origin>` -> `<ms> <up> <status>`
fn key(place: usize) -> String {
    let origin = settings().origins().get(place).map_or("", |origin| origin.as_str());
    ["lb.health ", origin].concat()
}

fn record(place: usize, verdict: Verdict) {
    let Verdict { up, status } = verdict;
    let text = format!("{} {} {}", hostcalls::now().0, u8::from(up), status.unwrap_or_default());
    let _ = hostcalls::share(&key(place), text.as_bytes(), None);
}

/// What the workers know, as the policy's cache. Who probes is told by the lease alone.
fn cache() -> HealthCache {
    let mut cache = HealthCache::new();
    // Makes a place for each origin.
    let _ = cache.step(settings(), Millis::ZERO, Millis::ZERO);
    for place in 0..settings().origins().len() {
        match hostcalls::shared(&key(place)).0.and_then(|bytes| decode(&bytes)) {
            Some((verdict, at)) => cache.record(place, verdict, at),
            None => cache.abandon(place),
        }
    }
    cache
}

fn decode(bytes: &[u8]) -> Option<(Verdict, Millis)> {
    let mut parts = std::str::from_utf8(bytes).ok()?.split(' ');
    let at = Millis(parts.next()?.parse().ok()?);
    let up = parts.next()? == "1";
    let status = parts.next()?.parse().ok().filter(|status| *status != 0);
    Some((Verdict { up, status }, at))
}
