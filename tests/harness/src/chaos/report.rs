//! The report of a run: how many of each, how long, how much memory.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use super::request::Asked;
use super::verdict::{Got, Unplanned, Verdict};
use super::{BUSY, Plan, TOLD, longest};
use crate::evidence::Outcome;

/// What the balancer may grow by once it is warm, in KiB.
const GROWTH: u64 = 32 * 1024;
/// Phases after which it is warm, of a hundred.
const WARM: usize = 20;
/// Failures of attempts that the plan does not explain, of a thousand requests.
const UNPLANNED: u64 = 10;

/// How a run went.
pub struct Report {
    plan: Plan,
    process: u32,
    begun: Instant,
    got: BTreeMap<Got, u64>,
    unplanned: BTreeMap<Unplanned, u64>,
    upstream: u64,
    most_upstream: usize,
    milliseconds: Vec<u64>,
    pub(super) resident: Vec<u64>,
    /// What must not be.
    pub(super) faults: Vec<String>,
}

impl Report {
    pub(super) fn new(plan: Plan, process: u32) -> Self {
        Self {
            plan,
            process,
            begun: Instant::now(),
            got: BTreeMap::new(),
            unplanned: BTreeMap::new(),
            upstream: 0,
            most_upstream: 0,
            milliseconds: Vec::new(),
            resident: Vec::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        phase: u64,
        asked: &Asked,
        outcome: &Outcome,
        upstream: usize,
        verdict: Verdict,
    ) {
        self.upstream += upstream as u64;
        self.most_upstream = self.most_upstream.max(upstream);
        if let Some(got) = verdict.got {
            *self.got.entry(got).or_default() += 1;
        }
        for unplanned in verdict.unplanned {
            *self.unplanned.entry(unplanned).or_default() += 1;
        }
        let who = format!("{} {} of {} bytes", asked.request.method, asked.request.target, asked.size());
        self.fault(phase, &who, &verdict.faults);
        if let Outcome::Answer(answer) = outcome {
            self.milliseconds.push(answer.whole_ms);
            let bound = longest(self.plan.world, asked.budget) + BUSY;
            if u128::from(answer.whole_ms) > bound.as_millis() {
                self.fault(phase, &who, &[format!("took {} ms", answer.whole_ms)]);
            }
        }
    }

    pub(super) fn fault(&mut self, phase: u64, who: &str, faults: &[String]) {
        self.faults.extend(faults.iter().map(|fault| format!("phase {phase}: {who}: {fault}")));
    }

    /// Notes the memory of the balancer.
    pub(super) fn sample(&mut self) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process)).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = resident.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        match kib {
            Some(kib) => self.resident.push(kib),
            None => self.faults.push("the balancer is gone".to_owned()),
        }
    }

    /// The log must tell of as many exhausted requests as clients do.
    pub(super) fn logged(&mut self, printed: &[String]) {
        let told = printed.iter().filter(|line| line.contains("all backends failed: ")).count() as u64;
        let got = self.count(Got::Exhausted);
        if told != got && self.faults.is_empty() {
            self.faults.push(format!("{got} requests were exhausted, and the log tells of {told}"));
        }
        let panics = printed.iter().filter(|line| line.contains("panic") || line.contains("wasm trap"));
        self.faults.extend(panics.cloned());
    }

    pub(super) fn finish(mut self) -> Result<Self, String> {
        let unplanned: u64 = self.unplanned.values().sum();
        if unplanned * 1000 > self.plan.requests * UNPLANNED {
            self.faults.push(format!("{unplanned} failures that were not planned: {:?}", self.unplanned));
        }
        let warm = self.warm();
        let (before, after) = self.resident.split_at(warm);
        if let (Some(before), Some(after)) = (before.iter().max(), after.iter().max())
            && *after > before + GROWTH
        {
            self.faults.push(format!("memory grew from {before} to {after} KiB"));
        }
        if self.faults.is_empty() {
            return Ok(self);
        }
        let told = self.faults.iter().take(TOLD).map(|fault| format!("\n  {fault}")).collect::<String>();
        let (Plan { seed, requests, .. }, count) = (self.plan, self.faults.len());
        let repeat = format!("SEED={seed} REQUESTS={requests} make chaos");
        Err(format!("`{repeat}` repeats it; {count} fault(s):{told}\n{self}"))
    }

    /// Samples that are taken before it is warm: one at least, so that the shortest run compares two.
    fn warm(&self) -> usize {
        (self.resident.len() * WARM / 100).max(1).min(self.resident.len())
    }

    fn count(&self, got: Got) -> u64 {
        self.got.get(&got).copied().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { world, seed, requests, concurrency } = self.plan;
        let seconds = self.begun.elapsed().as_secs_f64();
        writeln!(f, "{world:?}: {requests} requests, {concurrency} at once, seed {seed}, {seconds:.0} s")?;
        for (name, got) in [
            ("exact answers of 200", Got::Echo),
            ("exact answers of another status", Got::OtherAnswer),
            ("redirects as the answer", Got::RedirectAsAnswer),
            ("503 all backends failed", Got::Exhausted),
            ("broken off as by the origin", Got::Broken),
            ("408 the client was late", Got::ClientTimeout),
        ] {
            writeln!(f, "  {name:<32} {:>7}", self.count(got))?;
        }
        let (most, phases) = (self.most_upstream, self.plan.phases());
        writeln!(f, "  {:<32} {:>7}, at most {most} for one", "upstream requests", self.upstream)?;
        writeln!(f, "  {:<32} {:>7}", "changes of the weather", phases)?;
        writeln!(f, "  {:<32} {:?}", "failures that nobody planned", self.unplanned)?;
        let mut times = self.milliseconds.clone();
        times.sort_unstable();
        let at = |share: usize| times.get((times.len() * share / 1000).min(times.len().saturating_sub(1)));
        let [median, high, most] = [500, 990, 1000].map(|share| at(share).copied().unwrap_or_default());
        writeln!(f, "  {:<32} median {median}, 99 % {high}, most {most}", "milliseconds")?;
        let warm = self.resident.get(self.warm()).copied().unwrap_or_default();
        let most = self.resident.iter().max().copied().unwrap_or_default();
        write!(f, "  {:<32} {warm} warm, {most} at most", "resident KiB")
    }
}
