//! What is remembered of each stream. To be told of a stream's beginning and end, too, would cost every
//! request two more calls, so Envoy is not asked to: once there are twice as many streams as were left the
//! last time, those that are gone are looked for and forgotten.
//!
//! Clients that are silent in the middle of their body get `408` after `LB_REQUEST_TIMEOUT_MS` (contract
//! 2.6), and the try is dropped. Envoy has no such clock: its stream timeouts cannot tell a silent client from a
//! busy origin.

use crate::admission;
use crate::answer;
use crate::environment::settings;
use crate::hop::Chain;
use crate::hostcalls;
use crate::plugin;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::routes::Target;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;
use proxy_wasm::types::Action;

/// What was decided about a request.
pub(crate) enum Passed {
    /// Nothing is decided yet, or the filter answers itself.
    No,
    /// The filter answered itself, with this type of content.
    Replied(Vec<u8>),
    /// It went to the router.
    Planned { target: Target, attempts: u32 },
    /// It is a redirect hop.
    Redirected(Box<Chain>),
}

/// One pass of a client's request through the filter; a followed redirect is another.
pub(crate) struct Stream {
    pub(crate) id: u32,
    pub(crate) passed: Passed,
    /// While its body is not complete: when the client last sent something, as of the last tick, so that no
    /// chunk costs a hostcall.
    pub(crate) heard: Option<Millis>,
    /// GET and HEAD carry no body upstream.
    pub(crate) drops_body: bool,
}

/// The streams of one worker.
pub(crate) struct Streams {
    now: Millis,
    /// In the order of their numbers, which rise.
    known: Vec<Stream>,
    /// With so many it is time to forget.
    most: usize,
}

/// Streams that are gone are forgotten no sooner than there are so many.
const MANY: usize = 256;

/// A tenth of the bound, so that a silence ends at most that much later; never busy.
pub(crate) fn period(settings: &Settings) -> Millis {
    Millis((settings.request_timeout.0 / 10).clamp(10, 250))
}

/// The head of a client's request, or of a redirect hop.
pub(crate) fn request_headers(id: u32, whole: bool) -> Action {
    let Some(shared) = plugin::here() else { return Action::Pause };
    shared.streams.borrow_mut().make_room(id);
    let mut stream = Stream { id, passed: Passed::No, heard: None, drops_body: false };
    // A host that refuses a call leaves no way to answer but its own.
    let action = admission::decide(&mut stream, &shared, whole).unwrap_or(Action::Pause);
    let mut streams = shared.streams.borrow_mut();
    if stream.heard.is_some() && shared.wake(id, period(settings())) {
        streams.now = hostcalls::now();
    }
    stream.heard = stream.heard.map(|_| streams.now);
    streams.remember(stream);
    action
}

/// A part of its body, or with no bytes its trailers.
pub(crate) fn request_body(id: u32, size: usize, whole: bool) -> Action {
    let Some(shared) = plugin::here() else { return Action::Pause };
    let mut streams = shared.streams.borrow_mut();
    let now = streams.now;
    let Some(stream) = streams.find(id) else { return Action::Pause };
    stream.heard = stream.heard.filter(|_| !whole).map(|_| now);
    let goes_on = matches!(stream.passed, Passed::Planned { .. } | Passed::Redirected(_));
    if size > 0 && (stream.drops_body || !goes_on) {
        let _ = hostcalls::drop_request_body(size);
    }
    match goes_on && (whole || !stream.drops_body) {
        true => Action::Continue,
        // Who waits for the end of a body, or for verdicts, still does.
        false => Action::Pause,
    }
}

/// The head of an answer, where it is of interest; nothing in the VM behind the router.
pub(crate) fn response_headers(id: u32) -> Option<Action> {
    let shared = plugin::here()?;
    let mut streams = shared.streams.borrow_mut();
    let Some(stream) = streams.find(id) else { return Some(Action::Continue) };
    stream.heard = None;
    Some(answer::judge(&stream.passed).unwrap_or(Action::Continue))
}

impl Streams {
    pub(crate) const fn new() -> Self {
        Self { now: Millis::ZERO, known: Vec::new(), most: MANY }
    }

    fn find(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.known.binary_search_by_key(&id, |stream| stream.id).ok()?;
        self.known.get_mut(place)
    }

    fn remember(&mut self, stream: Stream) {
        match self.find(stream.id) {
            // The numbers have begun anew.
            Some(known) => *known = stream,
            None => {
                let place = self.known.partition_point(|known| known.id < stream.id);
                self.known.insert(place, stream);
            }
        }
    }

    /// Forgets those that are gone, if it is time to, in a call for that stream.
    fn make_room(&mut self, stream: u32) {
        if self.known.len() < self.most {
            return;
        }
        // A stream that is gone has no context.
        self.known.retain(|known| hostcalls::act_for(known.id).is_ok());
        let _ = hostcalls::act_for(stream);
        self.most = self.known.len().saturating_mul(2).max(MANY);
    }

    /// Answers the clients that were silent for too long. Says whether there are bodies left.
    pub(crate) fn tick(&mut self, root: u32) -> bool {
        self.now = hostcalls::now();
        // Heard of at some time after the tick that is noted.
        let bound = settings().request_timeout + period(settings());
        let mut left = false;
        for stream in &mut self.known {
            let Some(heard) = stream.heard else { continue };
            if self.now - heard < bound {
                left = true;
                continue;
            }
            stream.heard = None;
            // An answer that has begun goes on, whatever becomes of the body.
            if hostcalls::act_for(stream.id).is_ok() && hostcalls::property(&["response", "code"]).is_none() {
                let _ = hostcalls::reply(&Reply::client_timeout());
            }
        }
        let _ = hostcalls::act_for(root);
        left
    }
}
