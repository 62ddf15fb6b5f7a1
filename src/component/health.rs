//! The health view: probes whatever is due, all at once.

use super::host;
use super::job::{self, Job};
use crate::policy::exchange::Exchange;
use crate::policy::health::HealthCache;
use crate::policy::plan::Plan;
use crate::policy::reply::Reply;
use crate::policy::settings::Settings;
use std::sync::{Mutex, PoisonError};

/// Kept as long as the host keeps the instance.
static CACHE: Mutex<HealthCache> = Mutex::new(HealthCache::new());

pub(super) fn view(settings: &'static Settings) -> Reply {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut probes: Vec<_> = cache
        .due(settings, host::now())
        .into_iter()
        .filter_map(|index| Some((index, probe(settings, index)?)))
        .collect();
    while probes.iter().any(|(_, job)| job.verdict.is_none()) {
        let mut jobs: Vec<_> = probes.iter_mut().map(|(_, job)| job).collect();
        job::wait(&mut jobs, None);
    }
    for (index, job) in &probes {
        if let Some(verdict) = job.verdict {
            cache.record(*index, verdict, host::now());
        }
    }
    cache.view(settings)
}

fn probe(settings: &'static Settings, index: usize) -> Option<Job<'static>> {
    let plan = Plan::probe(settings, settings.origins().get(index)?)?;
    let (exchange, action) = Exchange::start(plan, host::now(), 0)?;
    Some(Job::new(exchange, action))
}
