//! One instance after another: each takes all requests that come, until it traps or the
//! configuration is replaced.

use std::future::poll_fn;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use wasmtime::component::Accessor;
use wasmtime_wasi_http::p3::bindings::Service as Guest;

use super::call::Call;
use super::{State, Template};
use crate::instance::answer::report;
use crate::instance::response_body::InstanceLife;

/// Requests at once in one instance; further ones wait. wasmtime lets a store have 100 000 handles,
/// and traps beyond: a request with an upload takes a dozen.
const REQUESTS: usize = 5000;

/// Where requests for one instance are handed in. Dropping it ends the instance, once that has
/// finished what it has.
pub(super) struct Worker {
    calls: mpsc::UnboundedSender<Call>,
    places: Arc<Semaphore>,
}

/// A request's place in an instance.
pub(super) type Place = OwnedSemaphorePermit;

impl Worker {
    pub(super) fn start(template: Arc<Template>) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        tokio::spawn(run(template, queue));
        Self { calls, places: Arc::new(Semaphore::new(REQUESTS)) }
    }

    /// How many more requests find a place at once.
    pub(super) fn room(&self) -> usize {
        self.places.available_permits()
    }

    /// A place, as soon as there is one.
    pub(super) async fn place(&self) -> Option<Place> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    pub(super) fn hand(&self, call: Call) {
        // Refused only when the runtime is ending; then the answer's sender goes with the call.
        let _ = self.calls.send(call);
    }
}

/// The next instance begins with the next request.
async fn run(template: Arc<Template>, mut queue: mpsc::UnboundedReceiver<Call>) {
    while let Some(first) = queue.recv().await {
        if let Err(error) = live(&template, first, &mut queue).await {
            report(&error);
        }
    }
}

async fn live(
    template: &Template,
    first: Call,
    queue: &mut mpsc::UnboundedReceiver<Call>,
) -> wasmtime::Result<()> {
    let (mut store, guest) = template.instantiate().await?;
    // Behind the store, so that it goes first: a body that the store's death ends is known to be
    // cut by then.
    let (alive, life) = watch::channel(false);
    let served = store.run_concurrent(async |accessor| serve(accessor, &guest, first, queue, &life).await);
    served.await??;
    alive.send_replace(true);
    Ok(())
}

/// Until the configuration is replaced and nothing is left to do; an error is a trap.
async fn serve(
    accessor: &Accessor<State>,
    guest: &Guest,
    first: Call,
    queue: &mut mpsc::UnboundedReceiver<Call>,
    life: &InstanceLife,
) -> wasmtime::Result<()> {
    let mut calls = FuturesUnordered::new();
    calls.push(first.run(accessor, guest, life.clone()));
    let mut open = true;
    while open || !calls.is_empty() {
        tokio::select! {
            Some(done) = calls.next() => done?,
            call = queue.recv(), if open => match call {
                Some(call) => calls.push(call.run(accessor, guest, life.clone())),
                None => open = false,
            },
        }
    }
    // Bodies that the instance still writes.
    poll_fn(|cx| accessor.poll_no_interesting_tasks(cx)).await;
    Ok(())
}
