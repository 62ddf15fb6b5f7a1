//! The requests of one client's request to origins: attempts, and the hops of their redirects.
//!
//! A request is a hop where it asks for what the answer before it leads to, by the policy's own rule and
//! within its number of hops. Everything else is an attempt: a redirect that fails its attempt instead
//! of leading on is followed by one.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{self, HopTarget, MAX_HOPS};

/// The attempts of a request so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempts {
    pub(super) count: u32,
    /// The origin of the last one.
    pub(super) origin: Option<String>,
    /// How the answer that the client gets broke off at its origin.
    pub(super) cut: Option<FailureClass>,
    /// Requests sent, hops too.
    sent: u32,
    /// Hops of the last attempt.
    hops: u32,
    /// What the last request asked for.
    asked: Uri,
    /// Where its answer leads.
    next: Option<HopTarget>,
}

/// One of the requests sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent(u32);

impl Attempts {
    /// A request goes out. Says whether it is an attempt.
    pub(super) fn sends(&mut self, uri: &Uri) -> (Sent, bool) {
        let is_hop = self.next.take().is_some_and(|next| is_for(uri, &next));
        self.sent = self.sent.saturating_add(1);
        self.asked.clone_from(uri);
        if is_hop {
            self.hops = self.hops.saturating_add(1);
        } else {
            self.hops = 0;
            self.count = self.count.saturating_add(1);
            self.origin = Some(origin_of(uri));
        }
        (Sent(self.sent), !is_hop)
    }

    /// One of them has an answer. One that came too late leads nowhere: the next has gone out.
    pub(super) fn is_answered(&mut self, sent: Sent, status: StatusCode, headers: &HeaderMap) {
        if sent == Sent(self.sent) && status.is_redirection() && self.hops < MAX_HOPS {
            self.next = leads_to(&self.asked, status, headers);
        }
    }
}

fn origin_of(uri: &Uri) -> String {
    uri.authority().map(|authority| format!("https://{authority}")).unwrap_or_default()
}

fn path_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

fn is_for(uri: &Uri, target: &HopTarget) -> bool {
    origin_of(uri) == target.origin().as_str() && path_of(uri) == target.path_with_query()
}

fn leads_to(asked: &Uri, status: StatusCode, headers: &HeaderMap) -> Option<HopTarget> {
    let origin = Origin::parse(&origin_of(asked)).ok()?;
    let fields = headers.get_all(LOCATION).iter();
    let fields = fields.map(|value| (LOCATION.as_str().to_owned(), value.as_bytes().to_vec()));
    redirect::leads_to(status.as_u16(), &Headers::new(fields.collect()), &origin, path_of(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sends(attempts: &mut Attempts, uri: &str) -> (Sent, bool) {
        attempts.sends(&uri.parse().unwrap())
    }

    fn redirects(attempts: &mut Attempts, sent: Sent, location: &str) {
        let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
        attempts.is_answered(sent, StatusCode::FOUND, &headers);
    }

    #[test]
    fn a_request_for_what_a_redirect_leads_to_is_a_hop() {
        let mut attempts = Attempts::default();
        let (sent, is_attempt) = sends(&mut attempts, "https://a.example/ready?a=1");
        assert!(is_attempt);
        redirects(&mut attempts, sent, "//other.example:444/x?y#z");
        assert!(!sends(&mut attempts, "https://other.example:444/x?y").1);
        assert_eq!((attempts.count, attempts.origin.as_deref()), (1, Some("https://a.example")));
    }

    #[test]
    fn any_other_request_behind_a_redirect_is_an_attempt() {
        let mut attempts = Attempts::default();
        let (sent, _) = sends(&mut attempts, "https://a.example/ready");
        redirects(&mut attempts, sent, "/elsewhere");
        assert!(sends(&mut attempts, "https://b.example/ready").1);
        assert_eq!((attempts.count, attempts.origin.as_deref()), (2, Some("https://b.example")));
    }

    #[test]
    fn the_request_behind_the_last_hop_is_an_attempt_wherever_the_redirect_leads() {
        let mut attempts = Attempts::default();
        let (mut sent, _) = sends(&mut attempts, "https://a.example/ready");
        for _ in 0..MAX_HOPS {
            redirects(&mut attempts, sent, "/ready");
            let (next, is_attempt) = sends(&mut attempts, "https://a.example/ready");
            assert!(!is_attempt);
            sent = next;
        }
        redirects(&mut attempts, sent, "https://b.example/ready");
        let (sent, is_attempt) = sends(&mut attempts, "https://b.example/ready");
        assert!(is_attempt);
        // And it has hops of its own.
        redirects(&mut attempts, sent, "/x");
        assert!(!sends(&mut attempts, "https://b.example/x").1);
        assert_eq!(attempts.count, 2);
    }

    #[test]
    fn an_answer_that_comes_too_late_leads_nowhere() {
        let mut attempts = Attempts::default();
        let (late, _) = sends(&mut attempts, "https://a.example/ready");
        sends(&mut attempts, "https://b.example/ready");
        redirects(&mut attempts, late, "https://c.example/ready");
        assert!(sends(&mut attempts, "https://c.example/ready").1);
    }
}
