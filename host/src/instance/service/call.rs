//! One request as a task of a shared instance.

use http::{Request, Response};
use tokio::sync::oneshot;
use wasmtime::AsContextMut;
use wasmtime::component::{Accessor, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p3::{self, bindings::Service as Guest};
use wasmtime_wasi_http::{FieldMap, WasiBody, WasiHttpView};

use super::State;
use super::client::Present;
use crate::instance::request_body::RequestBody;
use crate::instance::response_body::InstanceLife;
use crate::load::Share;

/// A request on its way to an instance.
pub(super) struct Call {
    pub(super) scheme: Scheme,
    pub(super) request: Request<RequestBody>,
    pub(super) client: Present,
    /// Its sender goes with the answer's body.
    pub(super) delivered: oneshot::Receiver<()>,
    pub(super) answer: oneshot::Sender<Result<Answered, ErrorCode>>,
    pub(super) place: Share,
}

/// The answer, and the life of the instance that gave it.
pub(super) struct Answered {
    pub(super) response: Response<WasiBody>,
    pub(super) life: InstanceLife,
}

impl Call {
    /// Runs up to the head; the rest of the body is the instance's own task. An error is a trap:
    /// the end of the instance.
    pub(super) async fn run(
        self,
        accessor: &Accessor<State>,
        guest: &Guest,
        life: InstanceLife,
    ) -> wasmtime::Result<()> {
        let Self { scheme, request, client, delivered, answer, place } = self;
        if client.client.has_changed().is_err() {
            return Ok(());
        }
        let handle = guest.wasi_http_handler().func_handle();
        let (call, task) = accessor.with(|mut store| {
            let request = push(store.data_mut(), &scheme, request)?;
            let call = handle.start_call_concurrent(store.as_context_mut(), (request,))?;
            let task = call.task();
            store.data_mut().departures().watch(task, client);
            wasmtime::error::Ok((call, task))
        })?;
        let (result,) = handle.finish_call_concurrent(accessor, call).await?;
        let answered = accessor.with(|mut store| {
            store.data_mut().departures().forget(task);
            let response = match result {
                Ok(response) => store.data_mut().http().table.delete(response)?,
                Err(code) => return Ok(Err(code)),
            };
            // Resolved at the end of the body, whole or not, and dropped when the component is done
            // with the request: until then it has its place.
            let end = async move {
                let _place = place;
                // Nothing is ever sent: the end is the message.
                let _ = delivered.await;
                Ok(())
            };
            let response = response.into_http(store.as_context_mut(), end)?;
            wasmtime::error::Ok(Ok(Answered { response, life }))
        })?;
        // The client may have gone meanwhile; the body goes with the answer.
        let _ = answer.send(answered);
        Ok(())
    }
}

/// The request as the component sees it: the scheme by which it truly arrived, and the target's
/// own authority, which absolute form and h2 have; Host stands among the fields.
fn push(
    state: &mut State,
    scheme: &Scheme,
    request: Request<RequestBody>,
) -> wasmtime::Result<Resource<p3::Request>> {
    let (head, body) = request.into_parts();
    let target = head.uri.into_parts();
    let scheme = match scheme {
        Scheme::Https => http::uri::Scheme::HTTPS,
        Scheme::Http | Scheme::Other(_) => http::uri::Scheme::HTTP,
    };
    let http = state.http();
    let fields = FieldMap::new_immutable(http.hooks, head.headers);
    let (request, _) = p3::Request::new(
        head.method,
        Some(scheme),
        target.authority,
        target.path_and_query,
        fields,
        None,
        body,
    );
    Ok(http.table.push(request)?)
}
