//! The root context: one per plugin and worker. It reads the plugin's configuration and makes the
//! contexts of its role.

use crate::admission::Stream;
use crate::attempts;
use crate::environment::{settings, variable};
use crate::health::Probes;
use crate::hostcalls;
use crate::upload::{self, Uploads};
use crate::wiring::{Plugin, Role};
use messageweave_lb::policy::time::Millis;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

proxy_wasm::main! {{
    proxy_wasm::set_root_context(|id| Box::new(Root::new(id)));
}}

thread_local! {
    static HAS_CONTEXTS: Cell<bool> = const { Cell::new(false) };
}

struct Root {
    id: u32,
    role: Role,
    shared: Rc<Shared>,
}

/// What the streams of a plugin share within one worker.
pub(crate) struct Shared {
    /// Whether what was rendered is what the variables say.
    pub(crate) matches: bool,
    pub(crate) uploads: RefCell<Uploads>,
    pub(crate) probes: RefCell<Probes>,
    /// The plugin's own context, which the clock calls.
    root: u32,
    /// How often it does; zero: not at all.
    ticking: Cell<Millis>,
}

impl Shared {
    /// Sees to it that the plugin is called again soon.
    pub(crate) fn wake(&self, period: Millis) {
        if self.ticking.get().is_zero() || self.ticking.get() > period {
            self.tick_every(period);
        }
    }

    fn tick_every(&self, period: Millis) {
        self.ticking.set(period);
        let _ = hostcalls::tick_every(period);
    }
}

/// Whether Envoy makes contexts in this VM.
pub(crate) fn has_contexts() -> bool {
    HAS_CONTEXTS.get()
}

impl Root {
    fn new(id: u32) -> Self {
        HAS_CONTEXTS.set(true);
        Self { id, role: Role::Admission, shared: Rc::new(Shared::new(id, true)) }
    }
}

/// What `check` says of the configuration, once in the life of an Envoy.
fn report(mismatch: Option<&str>) {
    const REPORTED: &str = "lb.reported";
    if hostcalls::shared(REPORTED).0.is_some() {
        return;
    }
    let _ = hostcalls::share(REPORTED, b"1", None);
    settings().announce();
    settings().errors().iter().for_each(|error| log::warn!("configuration: {error}"));
    if let Some(mismatch) = mismatch {
        log::error!("configuration: {mismatch}");
    }
}

impl Shared {
    fn new(root: u32, matches: bool) -> Self {
        Self {
            matches,
            uploads: RefCell::default(),
            probes: RefCell::new(Probes::new(root)),
            root,
            ticking: Cell::default(),
        }
    }
}

impl Context for Root {
    fn on_http_call_response(&mut self, token: u32, fields: usize, body: usize, _trailers: usize) {
        self.shared.probes.borrow_mut().answered(token, fields, body);
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, size: usize) -> bool {
        let text = hostcalls::plugin_configuration(size);
        let Some(plugin) = Plugin::decode(&text) else {
            log::error!("misconfigured: the plugin configuration is not what `envoy-config` renders");
            return false;
        };
        let settings = settings();
        let mismatch = plugin.mismatch(settings, variable);
        self.role = plugin.role;
        self.shared = Rc::new(Shared::new(self.id, mismatch.is_none()));
        if plugin.role == Role::Admission {
            report(mismatch);
            crate::hop::declare();
            crate::limits::declare();
            crate::health::prepare();
        }
        true
    }

    fn on_tick(&mut self) {
        let uploading = self.shared.uploads.borrow_mut().tick(self.shared.root);
        let waiting = self.shared.probes.borrow_mut().tick();
        match (uploading, waiting) {
            (_, true) => {}
            (true, false) => self.shared.tick_every(upload::period(settings())),
            (false, false) => self.shared.tick_every(Millis::ZERO),
        }
    }

    fn on_log(&mut self) {
        if self.role == Role::Attempts {
            attempts::log();
        }
    }

    fn create_http_context(&self, id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream::new(id, self.shared.clone())))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
