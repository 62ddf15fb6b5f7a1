//! The world of `wasi:http` 0.3: a fixed number of instances, each shared by many requests, so that
//! what an instance keeps is kept for all of them.

mod call;
mod client;
mod generations;
mod worker;

use std::sync::Arc;

use http::{Request, Response};
use tokio::sync::{oneshot, watch};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p3::bindings::http::types;
use wasmtime_wasi_http::p3::bindings::{Service as Guest, ServicePre};
use wasmtime_wasi_http::{WasiHttp, WasiHttpView};

use super::answer::{Client, Fault};
use super::request_body::RequestBody;
use super::response_body::{AbortOnDrop, ComponentBody, Outcome, ResponseBody};
use super::state::State;
use crate::cores::{self, Cores};
use crate::environment::Variables;
use crate::upstream::Upstream;
use call::{Answered, Call};
pub(super) use client::Departures;
use client::Present;
use generations::{Generation, Generations};
use worker::Worker;

/// The compiled component, ready to be instantiated; the same for every configuration.
#[derive(Clone)]
pub(crate) struct Engine {
    pre: ServicePre<State>,
    instances: u32,
    memory: usize,
    generations: Generations,
}

impl Engine {
    pub(crate) fn new(component: &Component, instances: u32, memory: usize) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(component.engine());
        // The standard library of the component speaks 0.2 for itself.
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        types::add_to_linker::<State, WasiHttp>(&mut linker, State::http)?;
        client::add_to_linker(&mut linker)?;
        let pre = ServicePre::new(linker.instantiate_pre(component)?)?;
        Ok(Self { pre, instances, memory, generations: Generations::default() })
    }
}

/// The instances of one configuration. Dropping it lets them finish what they have, up to the last byte that
/// a client takes.
pub(crate) struct Service {
    template: Arc<Template>,
    /// Of each thread, dealt out in turn.
    workers: Vec<Vec<Worker>>,
}

/// What an instance is made from.
struct Template {
    engine: Engine,
    variables: Variables,
    upstream: Upstream,
    generation: Generation,
}

impl Template {
    async fn instantiate(&self) -> wasmtime::Result<(Store<State>, Guest)> {
        let state = State::new(&self.variables, self.upstream.clone(), self.engine.memory);
        let mut store = Store::new(self.engine.pre.engine(), state);
        store.limiter(|state| state.limits());
        lift_limits_on_handles(&mut store);
        let guest = self.engine.pre.instantiate_async(&mut store).await?;
        Ok((store, guest))
    }
}

/// By default wasmtime traps a store that has 100 000 handles alive, and a request with an upload takes
/// a dozen. Here the requests of all connections may meet in one store: what bounds them is its
/// linear memory.
fn lift_limits_on_handles(store: &mut Store<State>) {
    store.set_max_component_handles(usize::MAX);
    store.data_mut().table().set_max_capacity(usize::MAX);
    if let Some(table) = store.concurrent_resource_table() {
        table.set_max_capacity(usize::MAX);
    }
}

impl Service {
    pub(crate) fn new(engine: Engine, variables: Variables, upstream: Upstream, cores: &Cores) -> Self {
        let count = usize::try_from(engine.instances).unwrap_or(usize::MAX);
        let generation = engine.generations.next();
        let template = Arc::new(Template { engine, variables, upstream, generation });
        let workers_of = |core| {
            let numbers = (core..count).step_by(cores.count());
            numbers.map(|_| Worker::start(Arc::clone(&template), cores, core)).collect()
        };
        let workers = (0..cores.count()).map(workers_of).collect();
        Self { template, workers }
    }

    /// Makes an instance for nothing, so that a component that cannot live under the flags is
    /// found before a request finds it.
    pub(crate) async fn warm(&self) -> Result<(), String> {
        let made = self.template.instantiate().await;
        made.map(drop).map_err(|error| format!("--component: {error:#}"))
    }

    /// Hands a request to that instance of its thread that has the fewest. Dropping this future takes the
    /// requests to origins along; dropping the answer's body ends that of its origin.
    pub(crate) async fn answer(
        &self,
        scheme: Scheme,
        mut request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Fault> {
        let (method, version) = (request.method().clone(), request.version());
        let Client { connection, record } = Client::of(&mut request);
        let (_here, client) = watch::channel(());
        let client = Present { client, connection, record };
        let (delivered_sender, delivered) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let here = self.workers.get(cores::this()).ok_or(Fault)?;
        let worker = here.iter().min_by_key(|worker| worker.load.weight()).ok_or(Fault)?;
        let place = worker.load.share();
        worker.hand(Call { scheme, request, client, delivered, answer, place });
        match answered.await {
            Ok(Ok(Answered { response, life })) => {
                let task = AbortOnDrop::of_shared(delivered_sender);
                Ok(ComponentBody::wrap(response, (&method, version), Outcome::Shared(life), task))
            }
            // Said by the component in place of an answer, or its instance has died.
            Ok(Err(_)) | Err(_) => Err(Fault),
        }
    }
}
