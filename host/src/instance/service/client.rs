//! `wasi:http/client` for requests of many clients in one instance: a request to an origin ends
//! when the client goes for whom it was made. wasmtime cannot cancel the task of a client, so the
//! request fails, and the text of the failure says why.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

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
use crate::connection::Clock;
use crate::instance::answer::Client;
use crate::record::Record;

/// Who is still there, by the task that works for them.
#[derive(Default)]
pub(in crate::instance) struct Departures(BTreeMap<GuestTaskId, Present>);

/// A client of a shared instance, as the instance knows it.
#[derive(Clone)]
pub(super) struct Present {
    /// Its sender goes when the client does.
    pub(super) client: watch::Receiver<()>,
    pub(super) connection: Option<Arc<Clock>>,
    pub(super) record: Option<Arc<Record>>,
}

impl Departures {
    pub(super) fn watch(&mut self, task: GuestTaskId, client: Present) {
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
        let (client, served) = match client {
            Some(Present { client, connection, record }) => (Some(client), Client { connection, record }),
            None => (None, Client { connection: None, record: None }),
        };
        let http = store.with_getter::<WasiHttp>(State::http);
        let sent = served.served(<WasiHttp as HostWithStore<State>>::send(&http, request));
        tokio::select! {
            biased;
            () = departure(client) => Err(ErrorCode::InternalError(Some(CLIENT_GONE.to_owned())).into()),
            answer = sent => answer,
        }
    }
}

/// The client for whom the calling task works; nobody once it has got its answer.
fn client_of_caller(store: &Accessor<State, WatchedClient>) -> wasmtime::Result<Option<Present>> {
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
