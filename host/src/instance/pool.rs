//! A stack of idle instances, the last used first, so that a sequence of requests meets the same
//! health cache. An instance serves one request at a time, is reused without limit, and goes only
//! when it trapped, when its client left, or when the configuration was reloaded.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::Store;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyPre};

use super::state::State;
use crate::environment::Variables;
use crate::upstream::Upstream;

/// How long a request waits for an instance. A client that does not read its answer keeps its own for
/// as long as it likes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The compiled component, ready to be instantiated; the same for every configuration.
#[derive(Clone)]
pub(crate) struct Engine {
    pre: ProxyPre<State>,
    /// Instances at once, over all configurations: the allocator's slots are shared.
    permits: Arc<Semaphore>,
    memory: usize,
}

impl Engine {
    pub(crate) fn new(component: &Component, max_instances: u32, memory: usize) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(component.engine());
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
        let pre = ProxyPre::new(linker.instantiate_pre(component)?)?;
        let permits = usize::try_from(max_instances).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self { pre, permits: Arc::new(Semaphore::new(permits)), memory })
    }
}

/// The instances of one configuration.
pub(crate) struct Pool {
    engine: Engine,
    variables: Variables,
    upstream: Upstream,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    stack: Vec<Instance>,
    /// What comes back then is dropped.
    retired: bool,
}

pub(super) struct Instance {
    pub(super) store: Store<State>,
    pub(super) proxy: Proxy,
}

impl Pool {
    pub(crate) fn new(engine: Engine, variables: Variables, upstream: Upstream) -> Self {
        Self { engine, variables, upstream, idle: Mutex::default() }
    }

    /// An instance for one request; waits a while if as many as allowed are busy. `None` if they
    /// stay so.
    pub(super) async fn lease(self: Arc<Self>) -> wasmtime::Result<Option<Lease>> {
        let permits = &self.engine.permits;
        let permit = match Arc::clone(permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => match timeout(PATIENCE, Arc::clone(permits).acquire_owned()).await {
                Ok(permit) => permit?,
                Err(_) => return Ok(None),
            },
        };
        let idle = self.locked(|idle| idle.stack.pop());
        let instance = match idle {
            Some(instance) => instance,
            None => self.instantiate().await?,
        };
        Ok(Some(Lease { instance, pool: self, permit }))
    }

    /// Makes the first instance, so that a component that cannot live under the flags is found
    /// before a request finds it.
    pub(crate) async fn warm(self: Arc<Self>) -> Result<(), String> {
        let lease = self.lease().await.map_err(|error| format!("--component: {error:#}"))?;
        if let Some(lease) = lease {
            lease.give_back();
        }
        Ok(())
    }

    /// No further reuse: a newer configuration is about to take over. An idle instance holds a slot of
    /// the allocator without a permit, so all of them go before the next configuration makes its
    /// first, one by one: the one that is being dropped has the slot to spare.
    pub(crate) fn retire(&self) {
        self.locked(|idle| idle.retired = true);
        while let Some(instance) = self.locked(|idle| idle.stack.pop()) {
            drop(instance);
        }
    }

    async fn instantiate(&self) -> wasmtime::Result<Instance> {
        let state = State::new(&self.variables, self.upstream.clone(), self.engine.memory);
        let mut store = Store::new(self.engine.pre.engine(), state);
        store.limiter(|state| state.limits());
        let proxy = self.engine.pre.instantiate_async(&mut store).await?;
        Ok(Instance { store, proxy })
    }

    fn locked<T>(&self, change: impl FnOnce(&mut Idle) -> T) -> T {
        change(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An instance that serves a request. Dropping it drops the instance; the permit goes last, so
/// that the allocator's slot is free before the next instance asks for one.
pub(super) struct Lease {
    pub(super) instance: Instance,
    pool: Arc<Pool>,
    permit: OwnedSemaphorePermit,
}

impl Lease {
    /// The request is done and the instance sound: it is the next one to be used.
    pub(super) fn give_back(self) {
        let Self { instance, pool, permit } = self;
        let refused = pool.locked(|idle| {
            if idle.retired {
                return Some(instance);
            }
            idle.stack.push(instance);
            None
        });
        drop(refused);
        drop(permit);
    }
}
