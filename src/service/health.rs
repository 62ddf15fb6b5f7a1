//! The health view. Requests that share the instance share its cache and its probes.

use super::bindings::wit_stream;
use super::host;
use super::job::Job;
use super::replay::ReplayCopy;
use crate::policy::exchange::Exchange;
use crate::policy::health::accept::Form;
use crate::policy::health::{HealthCache, Step, Verdict};
use crate::policy::plan::Plan;
use crate::policy::reply::Reply;
use crate::policy::settings::Settings;
use futures_util::future::join_all;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wit_bindgen::StreamWriter;

/// Kept as long as the host keeps the instance.
static SHARED: Mutex<Shared> = Mutex::new(Shared { cache: HealthCache::new(), waiting: Vec::new() });

struct Shared {
    cache: HealthCache,
    /// One end of a stream per request that waits; dropping it wakes the other. Tasks of an
    /// instance have no other way to wake each other but through the host.
    waiting: Vec<StreamWriter<u8>>,
}

pub(super) async fn view(settings: &'static Settings, form: Form) -> Reply {
    let since = host::now();
    loop {
        let step = shared().cache.step(settings, since, host::now());
        match step {
            Step::Probe(places) => {
                let probes = places.into_iter().map(|index| probe(settings, Probe(index)));
                if join_all(probes).await.contains(&Probed::Abandoned) {
                    // The client has gone: another that waits begins anew, and this one is over.
                    break;
                }
            }
            Step::Wait => wait().await,
            Step::View => break,
        }
    }
    shared().cache.view(settings, form)
}

async fn wait() {
    let (woken, mut wake) = wit_stream::new();
    shared().waiting.push(woken);
    // Nothing is ever written: the end is the message.
    let _ = wake.read(Vec::with_capacity(1)).await;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probed {
    Recorded,
    Abandoned,
}

async fn probe(settings: &'static Settings, probe: Probe) -> Probed {
    match ask(settings, probe.0).await {
        Some(verdict) => {
            shared().cache.record(probe.0, verdict, host::now());
            Probed::Recorded
        }
        None => Probed::Abandoned,
    }
}

async fn ask(settings: &'static Settings, index: usize) -> Option<Verdict> {
    let plan = Plan::probe(settings, settings.origins().get(index)?);
    let (exchange, action) = Exchange::start(plan, host::now(), 0)?;
    let (_, verdict) = Job::new(exchange, None, ReplayCopy::none()).run(action).await;
    verdict
}

/// A probe under way. However it ends, those who wait for it learn of it: with its client gone, or
/// its task cancelled, one of them begins it anew.
struct Probe(usize);

impl Drop for Probe {
    fn drop(&mut self) {
        let mut shared = shared();
        shared.cache.abandon(self.0);
        let woken = std::mem::take(&mut shared.waiting);
        drop(shared);
        drop(woken);
    }
}

/// Never held while anything is awaited.
fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
