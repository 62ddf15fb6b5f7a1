//! The root context: one per plugin and worker. It reads the plugin's configuration, and the clock, callouts and
//! the log call on it.

use crate::attempts;
use crate::environment::{settings, variable};
use crate::health::Probes;
use crate::hostcalls;
use crate::streams::{self, Streams};
use crate::wiring::{Plugin, Role};
use messageweave_lb::policy::time::Millis;
use proxy_wasm::traits::{Context, RootContext};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

proxy_wasm::main! {{
    proxy_wasm::set_root_context(|id| Box::new(Root { id, role: Role::Admission }));
}}

thread_local! {
    static HERE: OnceCell<Rc<Shared>> = const { OnceCell::new() };
}

struct Root {
    id: u32,
    role: Role,
}

/// What the streams of one worker share, also those of a plugin that was replaced and still ends its streams.
pub(crate) struct Shared {
    pub(crate) streams: RefCell<Streams>,
    pub(crate) probes: RefCell<Probes>,
    /// Whether what was rendered is what the variables say.
    matches: Cell<bool>,
    /// The newest plugin's own context, which the clock calls.
    root: Cell<u32>,
    /// How often it does; zero: not at all.
    ticking: Cell<Millis>,
}

impl Shared {
    fn new() -> Self {
        Self {
            streams: RefCell::new(Streams::new()),
            probes: RefCell::new(Probes::new()),
            matches: Cell::default(),
            root: Cell::default(),
            ticking: Cell::default(),
        }
    }

    pub(crate) fn matches(&self) -> bool {
        self.matches.get()
    }

    /// Sees to it, in a call for that stream, that the plugin is called again soon. Says whether nobody else had.
    pub(crate) fn wake(&self, stream: u32, period: Millis) -> bool {
        let before = self.ticking.get();
        if before.is_zero() || before > period {
            // The stream may have come to a plugin that has been replaced.
            let _ = hostcalls::act_for(self.root.get());
            self.tick_every(period);
            let _ = hostcalls::act_for(stream);
        }
        before.is_zero()
    }

    fn tick_every(&self, period: Millis) {
        self.ticking.set(period);
        let _ = hostcalls::tick_every(period);
    }

    /// A plugin has come, perhaps in place of another, whose clock goes with it.
    fn is_served_by(&self, root: u32, matches: bool) {
        self.root.set(root);
        self.matches.set(matches);
        if !self.ticking.get().is_zero() {
            self.tick_every(self.ticking.get());
        }
    }

    fn tick(&self, root: u32) {
        let uploading = self.streams.borrow_mut().tick(root);
        let waiting = self.probes.borrow_mut().tick(root);
        match (uploading, waiting) {
            (_, true) => {}
            (true, false) => self.tick_every(streams::period(settings())),
            (false, false) => self.tick_every(Millis::ZERO),
        }
    }
}

/// What the streams of this worker share. Nothing in the VM behind the router, which is never configured.
pub(crate) fn here() -> Option<Rc<Shared>> {
    HERE.with(|here| here.get().cloned())
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

impl Context for Root {
    fn on_http_call_response(&mut self, token: u32, fields: usize, body: usize, _trailers: usize) {
        if let Some(shared) = here() {
            shared.probes.borrow_mut().answered(self.id, token, fields, body);
        }
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
        if plugin.role == Role::Admission {
            let shared = HERE.with(|here| Rc::clone(here.get_or_init(|| Rc::new(Shared::new()))));
            shared.is_served_by(self.id, mismatch.is_none());
            report(mismatch);
            crate::hop::declare();
            crate::limits::declare();
            crate::health::prepare();
        }
        true
    }

    fn on_tick(&mut self) {
        if let Some(shared) = here() {
            shared.tick(self.id);
        }
    }

    fn on_log(&mut self) {
        if self.role == Role::Attempts {
            attempts::log();
        }
    }
}
