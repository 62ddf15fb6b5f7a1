//! One request through one instance.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use http::{Request, Response, Uri};
use tokio::sync::oneshot;
use wasmtime::component::Resource;
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::p2::types::{HostIncomingRequest, HostResponseOutparam};

use super::pool::{Lease, Pool};
use super::request_body::RequestBody;
use super::response_body::{AbortOnDrop, ComponentBody, Outcome, ResponseBody};
use crate::connection::Clock;
use crate::front;
use crate::journal::{self, Level};
use crate::record::{Record, Sent};

/// The component gave no answer: it trapped before the head, or broke the rules of its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("internal error")
    }
}

impl std::error::Error for Fault {}

tokio::task_local! {
    /// Whose request the component works on in this task, or in this call.
    static CLIENT: Client;
}

/// Whose request the component works on.
pub(super) struct Client {
    /// Where there is one that its departure ends: not for the health view.
    pub(super) connection: Option<Arc<Clock>>,
    pub(super) record: Option<Arc<Record>>,
}

impl Client {
    /// Takes along what the request was given on its way.
    pub(super) fn of(request: &mut Request<RequestBody>) -> Self {
        let extensions = request.extensions_mut();
        Self { connection: extensions.remove(), record: extensions.remove() }
    }

    /// What is done here, is done for this client.
    pub(super) async fn served<T>(self, work: impl Future<Output = T>) -> T {
        CLIENT.scope(self, work).await
    }
}

/// The component sends a request to an origin: from now on the client's departure ends its work.
/// Gives the record of the client's request, if there is one, and what was sent in it.
pub(super) fn send_for_client(uri: &Uri) -> Option<(Arc<Record>, Sent)> {
    let record = CLIENT.try_with(|client| {
        if let Some(connection) = &client.connection {
            connection.reach_origin();
        }
        client.record.clone()
    });
    // Nobody's client: a task of a shared instance that has answered already.
    let record = record.ok().flatten()?;
    let sent = record.sends(uri)?;
    Some((record, sent))
}

/// Runs the component on a request up to the head of the answer, and what is then left of the call in a task
/// of its own: most calls are over by then, and a task costs more than a call. Dropping this future, or the
/// answer's body before its end, ends the call.
pub(crate) async fn answer(
    pool: Arc<Pool>,
    scheme: Scheme,
    mut request: Request<RequestBody>,
) -> Result<Response<ResponseBody>, Fault> {
    let client = Client::of(&mut request);
    let (method, version) = (request.method().clone(), request.version());
    let lease = pool.lease().await.map_err(|error| report(&error))?;
    let Some(lease) = lease else { return Ok(front::no_instance()) };
    let (head_sender, head) = oneshot::channel();
    let (returned_sender, returned) = oneshot::channel();
    let call = Call::new(lease, returned_sender, scheme, request, head_sender);
    let mut call = Box::pin(client.served(call.map_err(|error| report(&error))?.run()));
    let (head, outcome, is_over) = first_of(&mut call, head, Outcome::Running(returned)).await;
    let task = match is_over {
        true => AbortOnDrop::nothing(),
        false => AbortOnDrop::new(tokio::spawn(call).abort_handle()),
    };
    match head {
        Some(Ok(response)) => Ok(ComponentBody::wrap(response, (&method, version), outcome, task)),
        // Said by the component in place of an answer, or it said nothing at all.
        Some(Err(_)) | None => Err(Fault),
    }
}

/// The head, or the end of the call without one: a component that returns may have kept its
/// outparam, so the head's sender alone does not tell. And whether the call is over, after which it must not
/// be polled again.
async fn first_of(
    call: &mut (impl Future<Output = ()> + Unpin),
    mut head: oneshot::Receiver<Head>,
    mut outcome: Outcome,
) -> (Option<Head>, Outcome, bool) {
    let mut is_over = false;
    let head = poll_fn(|cx| {
        is_over = is_over || Pin::new(&mut *call).poll(cx).is_ready();
        let running = matches!(outcome.poll(cx), Outcome::Running(_));
        match Pin::new(&mut head).poll(cx) {
            Poll::Ready(head) => Poll::Ready(head.ok()),
            Poll::Pending if running && !is_over => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        }
    });
    let head = head.await;
    (head, outcome, is_over)
}

type Head = Result<Response<HyperOutgoingBody>, ErrorCode>;

/// Field order is drop order: `returned` goes before the store does, so that the body can tell
/// an end from a death.
struct Call {
    returned: oneshot::Sender<()>,
    request: Resource<HostIncomingRequest>,
    out: Resource<HostResponseOutparam>,
    lease: Lease,
}

impl Call {
    fn new(
        mut lease: Lease,
        returned: oneshot::Sender<()>,
        scheme: Scheme,
        request: Request<RequestBody>,
        head: oneshot::Sender<Head>,
    ) -> wasmtime::Result<Self> {
        let mut http = lease.instance.store.data_mut().http();
        let request = http.new_incoming_request(scheme, request)?;
        let out = http.new_response_outparam(head)?;
        Ok(Self { returned, request, out, lease })
    }

    async fn run(self) {
        let Self { returned, request, out, lease } = self;
        let mut running = Running { returned, lease };
        let instance = &mut running.lease.instance;
        let handler = instance.proxy.wasi_http_incoming_handler();
        let result = handler.call_handle(&mut instance.store, request, out).await;
        let Running { returned, lease } = running;
        match result {
            Ok(()) => {
                // Nobody listens when the answer was complete before the call was.
                let _ = returned.send(());
                lease.give_back();
            }
            Err(error) => {
                drop(returned);
                report(&error);
                drop(lease);
            }
        }
    }
}

struct Running {
    returned: oneshot::Sender<()>,
    lease: Lease,
}

/// One line, without the backtrace: it names the trap and nothing of the request.
pub(super) fn report(error: &wasmtime::Error) -> Fault {
    journal::say(Level::Error, &format_args!("the component failed: {}", error.root_cause()));
    Fault
}
