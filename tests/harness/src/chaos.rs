//! Chaos: origins that fail at random in every way that the mocks know, many requests at once, and every
//! one of them judged.
//!
//! Everything follows from a seed: what a request is, what each origin does with it, and what the origins
//! are like in each phase of the run. Which request comes first changes none of it, so a run that fails
//! is repeated by its seed. What cannot be foreseen (a machine too busy for a clock, a pooled connection
//! that ends as it is used, an h2 connection that another request broke) is counted.

mod deed;
mod dice;
mod report;
mod request;
mod ring;
#[cfg(test)]
mod tests;
mod verdict;
mod weather;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::case::ConnectionFault;
use crate::case::{Over, Protocol, Turn};
use crate::client::{Kept, Target};
use crate::driver::{Component, Host, World};
use crate::evidence::{Outcome, Recorded};
use crate::origin::{Behaviour, Recorder, Resolve, Standing, UNREACHABLE};
use deed::Deed;
pub use report::Report;
use request::{Asked, parse};
use ring::Ring;
use verdict::Judge;
use weather::{Kind, SITES, Weather};

/// `LB_REQUEST_TIMEOUT_MS`.
const CLOCK: u64 = 600;
/// `LB_MAX_ATTEMPTS`.
const ATTEMPTS: usize = 3;
/// `LB_REPLAY_MAX_BYTES`.
const REPLAY: u64 = 65_536;
/// The most requests of one phase, between two changes of the weather.
const PHASE: u64 = 1000;
/// What a busy machine may add to the documented clocks.
const BUSY: Duration = Duration::from_secs(5);
/// Answers that may come before the request is read.
const EARLY: [u16; 3] = [408, 413, 503];
/// Faults that are told in full.
const TOLD: usize = 20;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The build.
    pub world: World,
    /// Everything follows from it.
    pub seed: u64,
    /// How many requests.
    pub requests: u64,
    /// How many of them at once.
    pub concurrency: usize,
}

impl Plan {
    /// Requests of one phase; there are at least two phases.
    fn phase(self) -> u64 {
        PHASE.min(self.requests.div_ceil(2)).max(1)
    }

    fn phases(self) -> u64 {
        self.requests.div_ceil(self.phase())
    }
}

/// Runs it; temporary files go to `folder`.
///
/// # Errors
/// What a client or an origin must never see, with the seed that repeats it.
pub async fn run(plan: Plan, folder: &Path) -> Result<Report, String> {
    let driver = Component::new(plan.world, folder)?;
    let mut origins = origins()?;
    let resolves: Result<Vec<Resolve>, String> = origins.values().map(Standing::resolve).collect();
    let mut resolves = resolves?;
    resolves.push(Resolve { host: "unreachable.example".to_owned(), port: 443, address: UNREACHABLE.into() });
    let host = Host::start(&driver.launch_with(environment(), &resolves)).await?;
    let mut clients = clients(&driver.target(&host), plan.concurrency);
    let mut report = Report::new(plan, host.id().unwrap_or_default());
    for phase in 0..plan.phases() {
        let recorder = Arc::new(Recorder::default());
        for (site, origin) in &mut origins {
            let weather = Weather::of(plan.seed, phase, *site);
            if !weather.down {
                let behaviour = Arc::new(Origin { seed: plan.seed, phase, site: *site, weather });
                origin.up(driver.authority(), weather.fault, behaviour, recorder.clone())?;
            }
        }
        let ids = phase * plan.phase()..plan.requests.min((phase + 1) * plan.phase());
        let outcomes = ask(&mut clients, plan, ids).await;
        judge(&mut report, plan, phase, &outcomes, &recorder);
        for origin in origins.values_mut() {
            origin.down().await;
        }
        report.sample();
        if report.faults.len() > TOLD {
            break;
        }
    }
    drop(clients);
    report.logged(&host.stop().await?);
    report.finish()
}

fn environment() -> BTreeMap<String, String> {
    let origins: Vec<&str> = SITES.iter().map(|site| site.url).collect();
    let clock = CLOCK.to_string();
    [
        ("BACKEND_ORIGINS_JSON", format!("{origins:?}")),
        ("LB_REQUEST_TIMEOUT_MS", clock.clone()),
        ("LB_WORKER_TIMEOUT_MS", clock),
        ("LB_MAX_ATTEMPTS", ATTEMPTS.to_string()),
        ("LB_REPLAY_MAX_BYTES", REPLAY.to_string()),
        ("LB_TRUST_FORWARDED_PROTO", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn origins() -> Result<BTreeMap<usize, Standing>, String> {
    let mocks = SITES.iter().enumerate().filter(|(_, site)| site.kind == Kind::Mock);
    mocks.map(|(index, site)| Ok((index, Standing::new(site.url, site.version)?))).collect()
}

/// Half of them as a terminator would: in the clear, with `x-forwarded-proto`.
fn clients(target: &Target, count: usize) -> Vec<Kept> {
    let kinds = [
        (Over::Http, Protocol::Http1),
        (Over::Https, Protocol::Http1),
        (Over::Http, Protocol::Http1),
        (Over::Https, Protocol::Http2),
    ];
    let kinds = kinds.iter().cycle().take(count);
    kinds.map(|(over, version)| Kept::new(target.clone(), *over, *version)).collect()
}

/// Sends the requests of a phase; every client takes the next one as soon as it is free.
async fn ask(clients: &mut Vec<Kept>, plan: Plan, ids: std::ops::Range<u64>) -> Vec<(u64, Outcome)> {
    let next = Arc::new(AtomicU64::new(ids.start));
    let mut working = JoinSet::new();
    for mut client in clients.drain(..) {
        let next = next.clone();
        working.spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let id = next.fetch_add(1, Ordering::Relaxed);
                if id >= ids.end {
                    return (client, outcomes);
                }
                let asked = Asked::of(plan.seed, id);
                let bound = longest(plan.world, asked.budget) + BUSY;
                let outcome = client.send(&asked.request, bound).await;
                // Envoy closes the connection of a request that was answered before it was read.
                if matches!(&outcome, Outcome::Answer(answer) if EARLY.contains(&answer.status)) {
                    client.leave();
                }
                outcomes.push((id, outcome));
            }
        });
    }
    let mut all = Vec::new();
    while let Some(Ok((client, outcomes))) = working.join_next().await {
        clients.push(client);
        all.extend(outcomes);
    }
    all
}

/// The documented clocks: of all attempts, and of the silence within an answer.
fn longest(world: World, attempts: usize) -> Duration {
    let attempts = attempts as u64;
    Duration::from_millis(match world {
        World::Proxy | World::Service => (attempts + 1) * CLOCK,
        World::Envoy => (2 * attempts + 2 * ATTEMPTS as u64 + 1) * CLOCK,
    })
}

fn judge(report: &mut Report, plan: Plan, phase: u64, outcomes: &[(u64, Outcome)], recorder: &Recorder) {
    let judge = Judge { seed: plan.seed, phase, ring: Ring::of(plan.world) };
    let records = recorder.since(0);
    let mut of_request: BTreeMap<u64, Vec<&Recorded>> = BTreeMap::new();
    for record in &records {
        match parse(&record.target) {
            Some((id, _)) => of_request.entry(id).or_default().push(record),
            None => report.fault(phase, "an origin", &[format!("saw {}", record.target.escape_ascii())]),
        }
    }
    report.fault(phase, "the origins", &recorder.complaints());
    for (id, outcome) in outcomes {
        let asked = Asked::of(plan.seed, *id);
        let records = of_request.remove(id).unwrap_or_default();
        report.add(phase, &asked, outcome, records.len(), judge.judge(&asked, outcome, &records));
    }
    for id in of_request.keys() {
        report.fault(phase, "an origin", &[format!("saw request {id}, which belongs to no client")]);
    }
}

/// One origin in one phase.
struct Origin {
    seed: u64,
    phase: u64,
    site: usize,
    weather: Weather,
}

impl Behaviour for Origin {
    fn connection(&self) -> Option<ConnectionFault> {
        self.weather.fault
    }

    fn request(&self, target: &[u8]) -> Option<(Turn, bool)> {
        let (id, hop) = parse(target)?;
        let turn = Deed::of(self.seed, self.phase, &Asked::of(self.seed, id), self.site, hop).turn;
        let closes = turn.close.is_some();
        Some((turn, closes))
    }
}
