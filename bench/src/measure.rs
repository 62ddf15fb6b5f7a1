//! Rounds: one contender, one kind of request, a few seconds.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use messageweave_lb_harness::load::{Ask, Bounds, Load, run};
use tokio::runtime::Builder;

use crate::Fallible;
use crate::contender::Running;
use crate::work::Work;

/// Connections of the load generator, each with one request under way.
pub const CONNECTIONS: usize = 16;

/// What one round has shown.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Whole and right answers in a second.
    pub rate: f64,
    /// Processor time of the contender for each, in microseconds.
    pub cost: f64,
    /// Half of the answers took no longer, in milliseconds.
    pub median: f64,
    /// Of a hundred answers, one took longer, in milliseconds.
    pub p99: f64,
}

/// Asks for so long.
///
/// # Errors
/// When one answer is not the right one.
pub fn round(running: &Running, work: Work, span: Duration) -> Fallible<Round> {
    let before = running.process.processor_time();
    let begun = Instant::now();
    let load = right(running, work, Bounds { span, requests: u64::MAX })?;
    let elapsed = begun.elapsed().as_secs_f64();
    let used = running.process.processor_time().saturating_sub(before);
    Ok(Round::of(load, elapsed, used))
}

/// Asks so often.
///
/// # Errors
/// When one answer is not the right one.
pub fn requests(running: &Running, work: Work, requests: u64) -> Fallible<()> {
    right(running, work, Bounds { span: Duration::from_secs(600), requests }).map(drop)
}

/// Answers in a second that the load generator and one origin reach without anything between them.
///
/// # Errors
/// When one answer is not the right one.
pub fn ceiling(origin: SocketAddr, work: Work, span: Duration) -> Fallible<f64> {
    let load = load(origin, &work.ask(), Bounds { span, requests: u64::MAX })?;
    match load.fault {
        Some(fault) => Err(format!("the load generator alone: {fault}")),
        None => Ok(load.latencies.len() as f64 / span.as_secs_f64()),
    }
}

fn right(running: &Running, work: Work, bounds: Bounds) -> Fallible<Load> {
    let load = load(running.address, &work.ask(), bounds)?;
    match load.fault {
        None if load.answers > 0 => Ok(load),
        fault => {
            let fault = fault.unwrap_or_else(|| "no answer at all".to_owned());
            let name = running.contender.name();
            Err(format!("{name}, {}: {fault}\n{}", work.name(), running.last_words()))
        }
    }
}

/// On this thread, which has nothing else to do.
fn load(address: SocketAddr, ask: &Ask, bounds: Bounds) -> Fallible<Load> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    Ok(runtime.block_on(run(address, ask, CONNECTIONS, bounds)))
}

impl Round {
    fn of(mut load: Load, elapsed: f64, used: Duration) -> Self {
        load.latencies.sort_unstable();
        let count = load.latencies.len();
        let at = |hundredth: usize| {
            let micros = load.latencies.get((count * hundredth / 100).min(count.saturating_sub(1)));
            f64::from(micros.copied().unwrap_or_default()) / 1000.0
        };
        let answers = load.answers as f64;
        Self {
            rate: answers / elapsed,
            cost: used.as_secs_f64() * 1e6 / answers,
            median: at(50),
            p99: at(99),
        }
    }

    /// The median of each figure by itself.
    #[must_use]
    pub fn median_of(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        Self { rate: of(|r| r.rate), cost: of(|r| r.cost), median: of(|r| r.median), p99: of(|r| r.p99) }
    }
}

/// The middle one, or the mean of the middle two; 0 of none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    if values.len() % 2 == 1 { at(middle) } else { f64::midpoint(at(middle.saturating_sub(1)), at(middle)) }
}
