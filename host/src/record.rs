//! What is told of each request, for `--access-log` and `--metrics`. With neither there is no record.

mod access_log;
mod attempts;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::safelist::HEALTH_PATH;
use tokio::time::Instant;
use wasmtime_wasi_http::WasiBody;

use crate::instance::BrokenOff;
use crate::journal::LogFormat;
use crate::metrics::Metrics;
use crate::output::Output;
use crate::upstream;
use access_log::{AccessLog, Ended, Line};
use attempts::Attempts;
pub(crate) use attempts::Sent;

/// The client left before it had the head of an answer: nginx's number for it.
const CLIENT_GONE: u16 = 499;

/// Who wants to know.
#[derive(Default)]
pub(crate) struct Observers {
    access_log: Option<AccessLog>,
    metrics: Option<Arc<Metrics>>,
}

impl Observers {
    /// `access_log` is where that goes, and how.
    pub(crate) fn new(access_log: Option<(LogFormat, Arc<Output>)>, metrics: Option<Arc<Metrics>>) -> Self {
        Self { access_log: access_log.map(|(format, lines)| AccessLog::new(format, lines)), metrics }
    }

    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// Begins the record of a request, if anybody wants to know.
    pub(crate) fn begin<B>(self: &Arc<Self>, request: &Request<B>) -> Option<Arc<Record>> {
        if self.access_log.is_none() && self.metrics.is_none() {
            return None;
        }
        // CONNECT has no path, and the policy reads it as this one.
        let path = Some(request.uri().path()).filter(|path| !path.is_empty()).unwrap_or("/");
        let line = self.access_log.is_some().then(|| Line::of(request.method().as_str(), path));
        Some(Arc::new(Record {
            observers: Arc::clone(self),
            began: Instant::now(),
            route: self.metrics.as_ref().map(|metrics| metrics.route_of(path)),
            is_health_view: path == HEALTH_PATH,
            line,
            attempts: Mutex::default(),
            is_stream_reset: AtomicBool::new(false),
        }))
    }
}

/// One request.
pub(crate) struct Record {
    observers: Arc<Observers>,
    began: Instant,
    /// Its label, where there are metrics.
    route: Option<Arc<str>>,
    is_health_view: bool,
    line: Option<Line>,
    attempts: Mutex<Attempts>,
    is_stream_reset: AtomicBool,
}

impl Record {
    /// The component sends a request to an origin: an attempt, unless it follows a redirect. Health
    /// probes are none.
    pub(crate) fn sends(&self, uri: &Uri) -> Option<Sent> {
        if self.is_health_view {
            return None;
        }
        let mut attempts = self.attempts();
        let (sent, is_attempt) = attempts.sends(uri);
        if let (true, Some(metrics), Some(route)) = (is_attempt, &self.observers.metrics, &self.route) {
            let origin = attempts.origin.as_deref().unwrap_or_default();
            metrics.attempted(Arc::clone(route), origin, attempts.count);
        }
        Some(sent)
    }

    /// Notes an origin's answer, and later how its body breaks off.
    pub(crate) fn is_answered(
        self: Arc<Self>,
        sent: Sent,
        response: Response<WasiBody>,
    ) -> Response<WasiBody> {
        self.attempts().is_answered(sent, response.status(), response.headers());
        response.map(|body| {
            let note = move |error| {
                self.attempts().cut = Some(upstream::class_of_cut(&error));
                error
            };
            body.map_err(note).boxed_unsync()
        })
    }

    /// The client's body broke off on h2, so that no answer can reach it any more: who is told so first,
    /// the component or the host, is a matter of chance.
    pub(crate) fn stream_is_reset(&self) {
        self.is_stream_reset.store(true, Ordering::Relaxed);
    }

    fn end(&self, status: u16, broken_off: Option<BrokenOff>) {
        let time = self.began.elapsed();
        let attempts = self.attempts().clone();
        if let (Some(metrics), Some(route)) = (&self.observers.metrics, &self.route) {
            metrics.answered(Arc::clone(route), status, time);
            if let (Some(BrokenOff::Aborted), Some(origin)) = (broken_off, &attempts.origin) {
                // The component's own clock ends a silent answer before any error of the origin's.
                metrics.failed(origin, attempts.cut.unwrap_or(FailureClass::Timeout).word());
            }
        }
        if let (Some(log), Some(line)) = (&self.observers.access_log, &self.line) {
            let ended = Ended { status, attempts: attempts.count, is_whole: broken_off.is_none(), time };
            log.write(line, attempts.origin.as_deref(), ended);
        }
    }

    fn attempts(&self) -> std::sync::MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the record when the answer does, whole or not, or the wait for it.
pub(crate) struct Ending {
    record: Option<Arc<Record>>,
    status: u16,
    broken_off: Option<BrokenOff>,
}

impl Ending {
    pub(crate) fn of(record: Option<Arc<Record>>) -> Self {
        Self { record, status: CLIENT_GONE, broken_off: None }
    }

    pub(crate) fn with(mut self, status: StatusCode) -> Self {
        let is_reset =
            self.record.as_ref().is_some_and(|record| record.is_stream_reset.load(Ordering::Relaxed));
        if !is_reset {
            self.status = status.as_u16();
        }
        self
    }

    /// The body did not come to its end.
    pub(crate) fn broke_off(&mut self, reason: BrokenOff) {
        self.broken_off = Some(reason);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(record) = &self.record {
            record.end(self.status, self.broken_off);
        }
    }
}
