//! The health view: probes whatever is due, all at once.

use super::host;
use super::job::{self, Job};
use crate::policy::exchange::Exchange;
use crate::policy::health::{HealthCache, Step};
use crate::policy::plan::Plan;
use crate::policy::reply::Reply;
use crate::policy::settings::Settings;
use std::sync::{Mutex, PoisonError};

/// Kept as long as the host keeps the instance.
static CACHE: Mutex<HealthCache> = Mutex::new(HealthCache::new());

pub(super) fn view(settings: &'static Settings) -> Reply {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let since = host::now();
    // One request at a time: nobody else's probe is ever waited for.
    if let Step::Probe(places) = cache.step(settings, since, since) {
        probe_all(&mut cache, settings, &places);
    }
    cache.view(settings)
}

fn probe_all(cache: &mut HealthCache, settings: &'static Settings, places: &[usize]) {
    let begun = places.iter().filter_map(|index| Some((*index, probe(settings, *index)?)));
    let mut probes: Vec<_> = begun.collect();
    while probes.iter().any(|(_, job)| job.ending.is_none()) {
        let mut jobs: Vec<_> = probes.iter_mut().map(|(_, job)| job).collect();
        job::wait(&mut jobs, None);
    }
    for (index, job) in &probes {
        match job.verdict {
            Some(verdict) => cache.record(*index, verdict, host::now()),
            None => cache.abandon(*index),
        }
    }
}

fn probe(settings: &'static Settings, index: usize) -> Option<Job<'static>> {
    let plan = Plan::probe(settings, settings.origins().get(index)?)?;
    let (exchange, action) = Exchange::start(plan, host::now(), 0)?;
    Some(Job::new(exchange, action))
}
