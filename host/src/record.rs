//! What is told of each request, for `--access-log` and `--metrics`. With neither there is no record.

mod access_log;

use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, StatusCode, Uri};
use messageweave_lb::policy::safelist::HEALTH_PATH;
use tokio::time::Instant;

use crate::journal::LogFormat;
use crate::metrics::Metrics;
use crate::output::Output;
use access_log::{AccessLog, Line};

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
        let path = request.uri().path();
        let line = self.access_log.is_some().then(|| Line::of(request.method().as_str(), path));
        Some(Arc::new(Record {
            observers: Arc::clone(self),
            began: Instant::now(),
            route: self.metrics.as_ref().map(|metrics| metrics.route_of(path)),
            is_health_view: path == HEALTH_PATH,
            line,
            attempts: Mutex::default(),
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
}

/// The attempts of a request so far.
#[derive(Debug, Clone, Default)]
struct Attempts {
    count: u32,
    origin: Option<String>,
    /// The last answer was a redirect: if the component sends once more, it follows it.
    redirected: bool,
}

impl Record {
    /// The component sends a request to an origin: an attempt, unless it follows a redirect or is a
    /// health probe.
    pub(crate) fn sends(&self, uri: &Uri) {
        if self.is_health_view {
            return;
        }
        let mut attempts = self.attempts();
        if std::mem::take(&mut attempts.redirected) {
            return;
        }
        let origin = uri.authority().map(|authority| format!("https://{authority}")).unwrap_or_default();
        attempts.count = attempts.count.saturating_add(1);
        if let (Some(metrics), Some(route)) = (&self.observers.metrics, &self.route) {
            metrics.attempted(Arc::clone(route), &origin, attempts.count);
        }
        attempts.origin = Some(origin);
    }

    pub(crate) fn is_answered(&self, status: StatusCode) {
        self.attempts().redirected = status.is_redirection();
    }

    fn end(&self, status: u16) {
        let duration = self.began.elapsed();
        if let (Some(metrics), Some(route)) = (&self.observers.metrics, &self.route) {
            metrics.answered(Arc::clone(route), status, duration);
        }
        if let (Some(log), Some(line)) = (&self.observers.access_log, &self.line) {
            let attempts = self.attempts().clone();
            log.write(line, status, attempts.origin.as_deref(), attempts.count, duration);
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
}

impl Ending {
    pub(crate) fn of(record: Option<Arc<Record>>) -> Self {
        Self { record, status: CLIENT_GONE }
    }

    pub(crate) fn with(mut self, status: StatusCode) -> Self {
        self.status = status.as_u16();
        self
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(record) = &self.record {
            record.end(self.status);
        }
    }
}
