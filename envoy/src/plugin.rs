//! The root context: one per plugin and worker. It reads the plugin's configuration, and is what the clock,
//! callouts and the log call.

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

/// What the streams of one VM share. Mostly its plugin is the only one: what is rendered anew has another VM. But a
/// configuration that was edited by hand may come beside it, or in its place.
pub(crate) struct Shared {
    pub(crate) streams: RefCell<Streams>,
    pub(crate) probes: RefCell<Probes>,
    plugins: RefCell<Vec<Configured>>,
    /// How often the clock calls a plugin that is the only one; zero: not at all.
    ticking: Cell<Millis>,
}

struct Configured {
    root: u32,
    /// Whether what was rendered is what the variables say.
    matches: bool,
}

impl Shared {
    fn new() -> Self {
        Self {
            streams: RefCell::new(Streams::new()),
            probes: RefCell::new(Probes::new()),
            plugins: RefCell::default(),
            ticking: Cell::default(),
        }
    }

    /// Whether a stream may be forwarded. Nothing tells whose it is: of several plugins one must match.
    pub(crate) fn matches(&self, stream: u32) -> bool {
        self.is_alone(stream);
        self.plugins.borrow().iter().any(|plugin| plugin.matches)
    }

    /// Sees to it, in a call for that stream, that the plugin is called again soon. Says whether it may have been
    /// asleep.
    pub(crate) fn wake(&self, stream: u32, period: Millis) -> bool {
        // Of several plugins each calls for streams of its own: it lives as long as they do.
        let before = if self.is_alone(stream) { self.ticking.get() } else { Millis::ZERO };
        if before.is_zero() || before > period {
            self.tick_every(period);
        }
        before.is_zero()
    }

    /// Whether there is one plugin alone. Those that are gone are forgotten, in a call for that stream.
    fn is_alone(&self, stream: u32) -> bool {
        let mut plugins = self.plugins.borrow_mut();
        if plugins.len() == 1 {
            return true;
        }
        plugins.retain(|plugin| hostcalls::act_for(plugin.root).is_ok());
        let _ = hostcalls::act_for(stream);
        self.ticking.set(Millis::ZERO);
        plugins.len() == 1
    }

    fn tick_every(&self, period: Millis) {
        self.ticking.set(period);
        let _ = hostcalls::tick_every(period);
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

/// What the streams of this VM share. Nothing in the one behind the router, which is never configured.
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
            shared.plugins.borrow_mut().push(Configured { root: self.id, matches: mismatch.is_none() });
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
