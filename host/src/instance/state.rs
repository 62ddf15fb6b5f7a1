//! What one instance may see and do: the documented variables, standard error, clocks,
//! randomness, and https requests through the shared client. No files, no sockets.

use std::future::Future;
use std::sync::{Arc, LazyLock};

use http::{HeaderName, Request, Response};
use wasmtime::component::ResourceTable;
use wasmtime::{StoreLimits, StoreLimitsBuilder};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error as WasiError, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks, WasiHttpView,
};

use super::answer::send_for_client;
use super::log_stream::LogStream;
use super::outgoing_body::{Death, Life};
use super::service::Departures;
use crate::environment::Variables;
use crate::upstream::Upstream;

/// Bookkeeping bytes of a header section that the component may hold: 2 000 fields of an origin
/// take far more room in the table than on the wire, and passing the limit is a trap.
/// The largest head that the flags allow, 1 MiB in 2 000 fields, fits twice over.
const FIELD_SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// The data of one store.
pub(super) struct State {
    /// Dropped before the table and every body in it.
    _life: Life,
    table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    limits: StoreLimits,
    departures: Departures,
}

impl State {
    pub(super) fn new(variables: &Variables, upstream: Upstream, memory: usize) -> Self {
        let mut wasi = WasiCtx::builder();
        for (name, value) in variables.iter() {
            wasi.env(name, value);
        }
        wasi.stderr(LogStream).stdout(LogStream);
        let life = Life::default();
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(FIELD_SIZE_LIMIT);
        Self {
            table: ResourceTable::new(),
            wasi: wasi.build(),
            http,
            hooks: Hooks { upstream, death: life.death() },
            _life: life,
            limits: StoreLimitsBuilder::new().memory_size(memory).build(),
            departures: Departures::default(),
        }
    }

    pub(super) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(super) fn departures(&mut self) -> &mut Departures {
        &mut self.departures
    }

    pub(super) fn limits(&mut self) -> &mut StoreLimits {
        &mut self.limits
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}

struct Hooks {
    upstream: Upstream,
    death: Death,
}

/// Made once: the library asks for it per header section.
static NOTHING_FORBIDDEN: LazyLock<ForbiddenHeaderFilter> = LazyLock::new(|| Arc::new(|_| false));

impl WasiHttpHooks for Hooks {
    /// The policy itself drops hop-by-hop fields and the names that `connection` lists, so it has
    /// to see them all.
    fn is_forbidden_header(&mut self, _: &HeaderName) -> bool {
        false
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::clone(&NOTHING_FORBIDDEN)
    }

    /// The pooled client writes Host itself, for HTTP/1.1 alone.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), WasiError>> + Send>,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Worker), WasiError>> + Send> {
        let record = send_for_client(request.uri());
        let upstream = self.upstream.clone();
        let request = request.map(|body| self.death.guard(body));
        Box::new(async move {
            let response = upstream.send(request, options.unwrap_or_default()).await?;
            let response = match record {
                Some((record, sent)) => record.is_answered(sent, response),
                None => response,
            };
            let worker: Worker = Box::new(async { Ok(()) });
            Ok((response, worker))
        })
    }
}

type Worker = Box<dyn Future<Output = Result<(), WasiError>> + Send>;
