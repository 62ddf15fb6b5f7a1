//! One instance after another: each takes all requests that come, until it traps or the
//! configuration is replaced.

use std::future::poll_fn;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use wasmtime::component::Accessor;
use wasmtime_wasi_http::p3::bindings::Service as Guest;

use super::call::Call;
use super::{State, Template};
use crate::cores::Cores;
use crate::instance::answer::report;
use crate::load::Load;

/// Where requests for one instance are handed in. Dropping it ends the instance, once that has
/// finished what it has and the last body that it gave has been taken or dropped.
pub(super) struct Worker {
    calls: mpsc::UnboundedSender<Call>,
    /// A share for each request that the instance has.
    pub(super) load: Load,
}

impl Worker {
    pub(super) fn start(template: Arc<Template>, cores: &Cores, core: usize) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        cores.spawn(core, run(template, queue));
        Self { calls, load: Load::default() }
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
    let alive = watch::Sender::new(());
    let served = store.run_concurrent(async |accessor| {
        serve(accessor, &guest, first, queue, &alive).await?;
        // Bodies that the instance hands on are none of its tasks, but they end with it.
        alive.closed().await;
        wasmtime::error::Ok(())
    });
    tokio::select! {
        served = served => served?,
        () = template.generation.outlived() => Ok(()),
    }
}

/// Until the configuration is replaced and the instance has no task left; an error is a trap.
async fn serve(
    accessor: &Accessor<State>,
    guest: &Guest,
    first: Call,
    queue: &mut mpsc::UnboundedReceiver<Call>,
    alive: &watch::Sender<()>,
) -> wasmtime::Result<()> {
    let mut calls = FuturesUnordered::new();
    calls.push(first.run(accessor, guest, alive.subscribe()));
    let mut open = true;
    while open || !calls.is_empty() {
        tokio::select! {
            Some(done) = calls.next() => done?,
            call = queue.recv(), if open => match call {
                Some(call) => calls.push(call.run(accessor, guest, alive.subscribe())),
                None => open = false,
            },
        }
    }
    // Bodies that the instance still writes.
    poll_fn(|cx| accessor.poll_no_interesting_tasks(cx)).await;
    Ok(())
}
