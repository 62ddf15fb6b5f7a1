//! `wasi:http/client` for requests of many clients in one instance: a request to an origin ends
//! when the client goes for whom it was made. wasmtime cannot cancel the task of a client, so the
//! request fails, and the text of the failure says why.

use std::collections::BTreeMap;
use std::future::pending;

use messageweave_lb::cancellation::CLIENT_GONE;
use tokio::sync::watch;
use wasmtime::AsContextMut;
use wasmtime::component::{Accessor, GuestTaskId, HasData, Linker, Resource};
use wasmtime_wasi::TrappableError;
use wasmtime_wasi_http::p3::bindings::http::client::{self, HostWithStore};
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p3::{Request, Response};
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtxView, WasiHttpView};

use super::State;

/// Who is still there, by the task that works for them. A client is gone once its sender is.
#[derive(Default)]
pub(in crate::instance) struct Departures(BTreeMap<GuestTaskId, watch::Receiver<()>>);

impl Departures {
    pub(super) fn watch(&mut self, task: GuestTaskId, client: watch::Receiver<()>) {
        self.0.insert(task, client);
    }

    pub(super) fn forget(&mut self, task: GuestTaskId) {
        self.0.remove(&task);
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    client::add_to_linker::<State, WatchedClient>(linker, State::http)
}

struct WatchedClient;

impl HasData for WatchedClient {
    type Data<'a> = WasiHttpCtxView<'a>;
}

impl HostWithStore<State> for WatchedClient {
    async fn send(
        store: &Accessor<State, Self>,
        request: Resource<Request>,
    ) -> Result<Resource<Response>, TrappableError<ErrorCode>> {
        let client = client_of_caller(store).map_err(TrappableError::trap)?;
        let http = store.with_getter::<WasiHttp>(State::http);
        tokio::select! {
            biased;
            () = departure(client) => Err(ErrorCode::InternalError(Some(CLIENT_GONE.to_owned())).into()),
            answer = <WasiHttp as HostWithStore<State>>::send(&http, request) => answer,
        }
    }
}

/// The client for whom the calling task works; nobody once it has got its answer.
fn client_of_caller(store: &Accessor<State, WatchedClient>) -> wasmtime::Result<Option<watch::Receiver<()>>> {
    store.with(|mut access| {
        let task = access.as_context_mut().async_call_stack()?.last();
        let departures = &access.data_mut().departures().0;
        Ok(task.and_then(|task| departures.get(&task).cloned()))
    })
}

async fn departure(client: Option<watch::Receiver<()>>) {
    match client {
        // Nothing is ever sent: the error is the message.
        Some(mut client) => while client.changed().await.is_ok() {},
        None => pending().await,
    }
}
