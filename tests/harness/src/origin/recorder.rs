//! What the mock origins of one run have seen, in the order in which the heads came.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::case::SeenFraming;
use crate::evidence::{Line, Progress, Recorded};

/// The common record of all mock origins of one run.
pub struct Recorder {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    requests: Vec<Recorded>,
    complaints: Vec<String>,
    contacts: Vec<String>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::channel(()).0 }
    }
}

impl Recorder {
    /// Notes a request by its head; the body follows under the number that is returned.
    pub(crate) fn begin(&self, request: Recorded) -> usize {
        self.change(|state| {
            let complaint = complaint_about(&request);
            state.complaints.extend(complaint.map(|text| format!("{}: {text}", request.origin)));
            state.requests.push(request);
            state.requests.len() - 1
        })
    }

    /// More of a request's body.
    pub(crate) fn body(&self, number: usize, bytes: &[u8]) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(number) {
                request.body.push(bytes);
            }
        });
    }

    /// The end of a request's body, unless it had one before.
    pub(crate) fn end(&self, number: usize, progress: Progress) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(number)
                && request.progress == Progress::Open
            {
                request.progress = progress;
            }
        });
    }

    /// The balancer dropped the request before its answer was complete.
    pub(crate) fn abandon(&self, number: usize) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(number) {
                request.abandoned = true;
            }
        });
        self.end(number, Progress::Broken);
    }

    /// Something that fails the case whatever it expects.
    pub(crate) fn complain(&self, origin: &str, text: &str) {
        self.change(|state| state.complaints.push(format!("{origin}: {text}")));
    }

    /// A connection reached an origin.
    pub(crate) fn contact(&self, origin: &str) {
        self.change(|state| state.contacts.push(origin.to_owned()));
    }

    /// The origin that was reached first.
    #[must_use]
    pub fn first_contact(&self) -> Option<String> {
        self.lock().contacts.first().cloned()
    }

    /// The requests from the given number on.
    #[must_use]
    pub fn since(&self, number: usize) -> Vec<Recorded> {
        self.lock().requests.get(number..).unwrap_or_default().to_vec()
    }

    /// Everything to complain about so far.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        self.lock().complaints.clone()
    }

    /// What to complain about from the given number on.
    #[must_use]
    pub fn complaints_since(&self, number: usize) -> Vec<String> {
        self.lock().complaints.get(number..).unwrap_or_default().to_vec()
    }

    /// Waits until the record satisfies `enough`, or that long; says whether it does.
    pub async fn wait(&self, bound: Duration, enough: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + bound;
        let mut changes = self.changed.subscribe();
        while !enough(self) {
            if !matches!(timeout_at(deadline, changes.changed()).await, Ok(Ok(()))) {
                return enough(self);
            }
        }
        true
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_replace(());
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong with the shape of a request, whatever a case expects (RFC 9112 sections 3.2, 6.1
/// and 6.3; a GET or HEAD of the balancer has no body).
fn complaint_about(request: &Recorded) -> Option<String> {
    let values = |name: &str| -> Vec<&[u8]> {
        let lines: &[Line] = &request.headers;
        lines.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_slice()).collect()
    };
    let authority = request.origin.strip_prefix("https://").unwrap_or_default();
    let lengths = values("content-length");
    let bodyless = request.method == "GET" || request.method == "HEAD";
    match values("host").as_slice() {
        [] => return Some("a request without Host".to_owned()),
        [host] if *host == authority.as_bytes() => {}
        [host] => return Some(format!("Host is {:?}", host.escape_ascii().to_string())),
        _ => return Some("a request with several Host lines".to_owned()),
    }
    if lengths.len() > 1 {
        Some("several content-length lines".to_owned())
    } else if !lengths.is_empty() && !values("transfer-encoding").is_empty() {
        Some("content-length next to transfer-encoding".to_owned())
    } else if bodyless && request.framing != SeenFraming::None {
        Some(format!("a {} with a body or a framing header", request.method))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Content;

    fn complaint(method: &str, framing: SeenFraming, lines: &[(&str, &str)]) -> Option<String> {
        let lines = lines.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        complaint_about(&Recorded {
            origin: "https://a.example:8443".to_owned(),
            method: method.to_owned(),
            target: b"/".to_vec(),
            headers: lines.collect(),
            framing,
            body: Content::default(),
            progress: Progress::Complete,
            abandoned: false,
        })
    }

    #[test]
    fn a_request_of_an_odd_shape_is_a_complaint() {
        const HOST: (&str, &str) = ("host", "a.example:8443");
        use SeenFraming::{Chunked, ContentLength, None as Unframed};
        assert_eq!(complaint("GET", Unframed, &[HOST]), None);
        assert_eq!(complaint("POST", Chunked, &[HOST, ("transfer-encoding", "chunked")]), None);
        for (method, framing, lines) in [
            ("GET", Unframed, &[][..]),
            ("GET", Unframed, &[("host", "lb.example")]),
            ("GET", Unframed, &[HOST, HOST]),
            ("GET", ContentLength, &[HOST, ("content-length", "0")]),
            ("HEAD", Chunked, &[HOST, ("transfer-encoding", "chunked")]),
            ("POST", ContentLength, &[HOST, ("content-length", "1"), ("content-length", "1")]),
            ("POST", Chunked, &[HOST, ("content-length", "1"), ("transfer-encoding", "chunked")]),
        ] {
            assert!(complaint(method, framing, lines).is_some(), "{method} {lines:?}");
        }
    }
}
