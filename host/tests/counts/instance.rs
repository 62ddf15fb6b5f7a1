//! A component with an origin that answers at once, and no network.

use std::future::Future;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::oneshot;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyPre};
use wasmtime_wasi_http::p3;
use wasmtime_wasi_http::p3::bindings::{Service, ServicePre};
use wasmtime_wasi_http::{
    Error, FieldMap, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

pub(crate) type Body = WasiBody;

/// More than any case burns.
const FUEL: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    Proxy,
    Service,
}

pub(crate) struct Instance {
    store: Store<State>,
    guest: Guest,
}

enum Guest {
    Proxy(Proxy),
    Service(Service),
}

pub(crate) fn body(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync()
}

impl Instance {
    pub(crate) async fn new(world: World, component: &[u8]) -> Self {
        let mut config = Config::new();
        config.consume_fuel(true).concurrency_support(world == World::Service);
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        let mut store = Store::new(&engine, State::new());
        store.set_fuel(FUEL).unwrap();
        let guest = match world {
            World::Proxy => {
                wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).unwrap();
                let pre = ProxyPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
                Guest::Proxy(pre.instantiate_async(&mut store).await.unwrap())
            }
            World::Service => {
                wasmtime_wasi::p3::add_to_linker(&mut linker).unwrap();
                p3::add_to_linker(&mut linker).unwrap();
                let pre = ServicePre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
                Guest::Service(pre.instantiate_async(&mut store).await.unwrap())
            }
        };
        Self { store, guest }
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.store.get_fuel().unwrap()
    }

    /// The whole answer.
    pub(crate) async fn answer(&mut self, request: Request<Body>) -> Response<Bytes> {
        match &self.guest {
            Guest::Proxy(proxy) => answer_of_proxy(&mut self.store, proxy, request).await,
            Guest::Service(service) => answer_of_service(&mut self.store, service, request).await,
        }
    }
}

async fn answer_of_proxy(store: &mut Store<State>, proxy: &Proxy, request: Request<Body>) -> Response<Bytes> {
    let scheme = if request.uri().scheme_str() == Some("https") { Scheme::Https } else { Scheme::Http };
    let (sender, answer) = oneshot::channel();
    let mut http = store.data_mut().http();
    let request = http.new_incoming_request(scheme, request).unwrap();
    let out = http.new_response_outparam(sender).unwrap();
    let handler = proxy.wasi_http_incoming_handler();
    let reading = async { whole(answer.await.unwrap().unwrap()).await };
    let (called, answer) = tokio::join!(handler.call_handle(store, request, out), reading);
    called.unwrap();
    answer
}

async fn answer_of_service(
    store: &mut Store<State>,
    service: &Service,
    request: Request<Body>,
) -> Response<Bytes> {
    let (head, body) = request.into_parts();
    let uri = head.uri.into_parts();
    let http = store.data_mut().http();
    let fields = FieldMap::new_immutable(http.hooks, head.headers);
    let (request, _) =
        p3::Request::new(head.method, uri.scheme, uri.authority, uri.path_and_query, fields, None, body);
    let served = store.run_concurrent(async |accessor| {
        let response = service.handle(accessor, request).await.unwrap().unwrap();
        let response = accessor.with(|mut store| response.into_http(&mut store, async { Ok(()) })).unwrap();
        let answer = whole(response).await;
        // What the component does behind its answer belongs to the request.
        std::future::poll_fn(|cx| accessor.poll_no_interesting_tasks(cx)).await;
        answer
    });
    served.await.unwrap()
}

async fn whole(response: Response<Body>) -> Response<Bytes> {
    let (head, body) = response.into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

struct State {
    table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Origin,
}

impl State {
    fn new() -> Self {
        let mut wasi = WasiCtx::builder();
        wasi.env("BACKEND_ORIGINS_JSON", r#"["https://a.example","https://b.example"]"#);
        Self { table: ResourceTable::new(), wasi: wasi.build(), http: WasiHttpCtx::new(), hooks: Origin }
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

struct Origin;

type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Origin {
    fn is_forbidden_header(&mut self, _: &http::HeaderName) -> bool {
        false
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    /// Takes the whole upload first.
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(async move {
            request.into_body().collect().await?;
            let response =
                Response::builder().header("content-type", "application/json").header("content-length", 24);
            let response = response.body(body(vec![b'x'; 24])).map_err(|_| Error::ConnectionTerminated)?;
            let done: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(async { Ok(()) });
            Ok((response, done))
        })
    }
}
