//! The health view: probes whatever is due, all at once.

use super::host;
use super::job::{self, Job};
use crate::policy::exchange::Exchange;
use crate::policy::health::accept::Form;
use crate::policy::health::{HealthCache, Step};
use crate::policy::plan::Plan;
use crate::policy::reply::Reply;
use crate::policy::settings::Settings;
use std::sync::{Mutex, PoisonError};

/// Kept as long as the host keeps the instance.
static CACHE: Mutex<HealthCache> = Mutex::new(HealthCache::new());

pub(super) fn view(settings: &'static Settings, form: Form) -> Reply {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let since = host::now();
    // One request at a time: nobody else's probe is ever waited for.
    if let Step::Probe(places) = cache.step(settings, since, since) {
        probe_all(&mut cache, settings, &places);
    }
    cache.view(settings, form)
}

fn probe_all(cache: &mut HealthCache, settings: &'static Settings, places: &[usize]) {
    let begun = places.iter().filter_map(|index| Some((*index, probe(settings, *index)?)));
    let mut probes: Vec<_> = begun.collect();
    loop {
        // Each as it comes: a slow origin does not make a fast one's verdict look younger.
        for (index, job) in &mut probes {
            if let Some(verdict) = job.verdict.take() {
                cache.record(*index, verdict, host::now());
            }
        }
        let mut open: Vec<_> =
            probes.iter_mut().map(|(_, job)| job).filter(|job| job.ending.is_none()).collect();
        if open.is_empty() {
            break;
        }
        job::wait(&mut open, None);
    }
    // What brought no verdict is free to be probed again.
    places.iter().for_each(|index| cache.abandon(*index));
}

fn probe(settings: &'static Settings, index: usize) -> Option<Job<'static>> {
    let plan = Plan::probe(settings, settings.origins().get(index)?);
    let (exchange, action) = Exchange::start(plan, host::now(), 0)?;
    Some(Job::new(exchange, action))
}
