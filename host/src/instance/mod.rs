//! The component's instances, kept for the life of the process: of the 0.2 world each has one
//! request at a time, of the 0.3 world many.

mod answer;
mod log_stream;
mod outgoing_body;
mod pool;
mod request_body;
mod response_body;
mod service;
mod state;

use std::sync::Arc;

use http::{Request, Response};
use wasmtime::component::Component;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

use crate::arguments::Limits;
use crate::cores::Cores;
use crate::environment::Variables;
use crate::upstream::Upstream;
use crate::world::World;
use answer::Fault;
use pool::Pool;
pub(crate) use request_body::RequestBody;
pub(crate) use response_body::{BrokenOff, ResponseBody};
use service::Service;

/// The compiled component, ready to be instantiated; the same for every configuration.
#[derive(Clone)]
pub(crate) enum Engine {
    Proxy(pool::Engine),
    Service(service::Engine),
}

impl Engine {
    pub(crate) fn world(&self) -> World {
        match self {
            Self::Proxy(_) => World::Proxy,
            Self::Service(_) => World::Service,
        }
    }

    pub(crate) fn new(component: &Component, world: World, limits: &Limits) -> wasmtime::Result<Self> {
        let memory = limits.memory_of(world);
        Ok(match world {
            World::Proxy => Self::Proxy(pool::Engine::new(component, limits.max_instances, memory)?),
            World::Service => Self::Service(service::Engine::new(component, limits.instances, memory)?),
        })
    }
}

/// The instances of one configuration.
pub(crate) enum Instances {
    Proxy(Arc<Pool>),
    Service(Service),
}

impl Instances {
    pub(crate) fn new(engine: Engine, variables: Variables, upstream: Upstream, cores: &Cores) -> Self {
        match engine {
            Engine::Proxy(engine) => Self::Proxy(Arc::new(Pool::new(engine, variables, upstream))),
            Engine::Service(engine) => Self::Service(Service::new(engine, variables, upstream, cores)),
        }
    }

    /// Makes an instance, so that a component that cannot live under the flags is found before a
    /// request finds it.
    pub(crate) async fn warm(&self) -> Result<(), String> {
        match self {
            Self::Proxy(pool) => Arc::clone(pool).warm().await,
            Self::Service(service) => service.warm().await,
        }
    }

    /// The component's answer to a request.
    pub(crate) async fn answer(
        &self,
        scheme: Scheme,
        request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Fault> {
        match self {
            Self::Proxy(pool) => answer::answer(Arc::clone(pool), scheme, request).await,
            Self::Service(service) => service.answer(scheme, request).await,
        }
    }

    /// No further reuse: a newer configuration has taken over. Shared instances end with their
    /// last request.
    pub(crate) fn retire(&self) {
        match self {
            Self::Proxy(pool) => pool.retire(),
            Self::Service(_) => {}
        }
    }
}
