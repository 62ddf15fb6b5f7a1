//! Clients that are silent in the middle of their body (contract 2.6): `408` after
//! `LB_REQUEST_TIMEOUT_MS`, and the try is dropped. Envoy has no such clock: its stream timeouts
//! cannot tell a silent client from a busy origin.

use crate::environment::settings;
use crate::hostcalls;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;

/// The streams whose body is not complete, and when each last sent something, as of the last tick:
/// no body chunk costs a hostcall.
#[derive(Default)]
pub(crate) struct Uploads {
    now: Millis,
    heard: Vec<(u32, Millis)>,
}

/// A tenth of the bound, so that a silence ends at most that much later; never busy.
pub(crate) fn period(settings: &Settings) -> Millis {
    Millis((settings.request_timeout.0 / 10).clamp(10, 250))
}

impl Uploads {
    /// A body begins.
    pub(crate) fn begin(&mut self, stream: u32) {
        if self.heard.is_empty() {
            self.now = hostcalls::now();
        }
        self.heard.push((stream, self.now));
    }

    /// The client sent something.
    pub(crate) fn heard(&mut self, stream: u32) {
        if let Some((_, heard)) = self.heard.iter_mut().find(|(id, _)| *id == stream) {
            *heard = self.now;
        }
    }

    /// The body is complete, or nobody waits for it any more.
    pub(crate) fn end(&mut self, stream: u32) {
        self.heard.retain(|(id, _)| *id != stream);
    }

    /// Answers the clients that were silent for too long. Says whether there are bodies left.
    pub(crate) fn tick(&mut self, root: u32) -> bool {
        if self.heard.is_empty() {
            return false;
        }
        self.now = hostcalls::now();
        // Heard of at some time after the tick that is noted.
        let bound = settings().request_timeout + period(settings());
        let now = self.now;
        let silent: Vec<_> = self.heard.extract_if(.., |(_, heard)| now - *heard >= bound).collect();
        for (stream, _) in &silent {
            // An answer that has begun goes on, whatever becomes of the body.
            if hostcalls::act_for(*stream).is_ok() && hostcalls::property(&["response", "code"]).is_none() {
                let _ = hostcalls::reply(&Reply::client_timeout());
            }
        }
        if !silent.is_empty() {
            let _ = hostcalls::act_for(root);
        }
        !self.heard.is_empty()
    }
}
