//! Judges one request: what its client got and what origins saw of it, against what the origins were
//! going to do. Whatever the plan does not explain is a fault or is counted.

mod upstream;

use super::deed::{Deed, Fate};
use super::request::{Asked, parse};
use super::ring::Ring;
use super::weather::{Kind, SITES, Weather};
use crate::case::{Ending, Protocol};
use crate::evidence::{Content, Outcome, Received, Recorded};

/// What a client got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Got {
    Echo,
    OtherAnswer,
    RedirectAsAnswer,
    Exhausted,
    Broken,
    ClientTimeout,
}

/// A failure of an attempt that the plan did not ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unplanned {
    /// A clock ran out that should not have: the machine was busy.
    Late,
    /// An h2 connection broke because of another request on it.
    Collateral,
    /// A pooled connection that had ended, or what only the log could tell.
    Other,
}

/// One request, judged.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) got: Option<Got>,
    pub(super) unplanned: Vec<Unplanned>,
    pub(super) faults: Vec<String>,
}

/// What is known when requests of one phase are judged.
pub(super) struct Judge {
    pub(super) seed: u64,
    pub(super) phase: u64,
    pub(super) ring: Ring,
}

/// The case of one request.
struct Trial<'a> {
    judge: &'a Judge,
    asked: &'a Asked,
    /// The sites whose first request of an attempt arrived, in order.
    visited: Vec<usize>,
    records: &'a [&'a Recorded],
    /// The sites whose failure is accounted for.
    excused: Vec<usize>,
    verdict: Verdict,
}

impl Judge {
    pub(super) fn judge(&self, asked: &Asked, outcome: &Outcome, records: &[&Recorded]) -> Verdict {
        let verdict = Verdict { got: None, unplanned: Vec::new(), faults: Vec::new() };
        let mut trial =
            Trial { judge: self, asked, visited: Vec::new(), records, excused: Vec::new(), verdict };
        trial.upstream();
        match outcome {
            Outcome::Answer(answer) => trial.answer(answer),
            other => trial.fault(format!("the client got {other:?}")),
        }
        trial.verdict
    }

    /// What an attempt at a site comes to, if it arrives there.
    fn deed(&self, asked: &Asked, site: usize) -> Fate {
        Deed::of(self.seed, self.phase, asked, site, false).fate
    }

    /// Why an attempt at a site fails by plan; nothing where it should not.
    fn reasons(&self, asked: &Asked, site: usize) -> Option<Vec<String>> {
        match SITES.get(site).map(|site| site.kind) {
            Some(Kind::Unreachable) => return Some(vec!["unreachable".to_owned()]),
            Some(Kind::Unresolvable) => return Some(vec!["dns".to_owned()]),
            _ => {}
        }
        if let Some(reason) = Weather::of(self.seed, self.phase, site).reason() {
            return Some(vec![reason.to_owned()]);
        }
        match self.deed(asked, site) {
            Fate::Fails(reasons) => Some(reasons),
            // The reset of an h2 stream overtakes the head that is still to be written.
            Fate::Cut(_, _, Ending::Reset) if self.is_http2(site) => Some(vec!["reset".to_owned()]),
            _ => None,
        }
    }

    /// Whether other requests may break the connection that this one is on.
    fn is_rough(&self, site: usize) -> bool {
        self.is_http2(site) && Weather::of(self.seed, self.phase, site).rough
    }

    fn is_http2(&self, site: usize) -> bool {
        SITES.get(site).is_some_and(|site| site.version == Protocol::Http2)
    }
}

impl Trial<'_> {
    fn fault(&mut self, text: String) {
        self.verdict.faults.push(text);
    }

    fn answer(&mut self, answer: &Received) {
        let own = header(answer, "x-chaos").is_none();
        match (answer.status, &answer.broken) {
            (503, None) if own => self.exhausted(&String::from_utf8_lossy(answer.body.start())),
            (408, None) if own => self.client_timeout(),
            (0, _) => self.fault(format!("half a head: {:?}", answer.broken)),
            _ if own => self.fault(format!("an answer of nobody: {answer:?}")),
            _ => self.of_origin(answer),
        }
    }

    fn of_origin(&mut self, answer: &Received) {
        let url = header(answer, "x-lb-backend").unwrap_or_default();
        let Some(site) = SITES.iter().position(|site| site.url == url) else {
            return self.fault(format!("an answer of nobody: {:?}", answer.headers));
        };
        let Some(place) = self.visited.iter().position(|visited| *visited == site) else {
            return self.fault(format!("an answer of {url}, which was not asked"));
        };
        if place + 1 < self.visited.len() {
            // An origin so busy that it read a request only after the balancer had given it up.
            self.visited.remove(place);
            self.visited.push(site);
            self.verdict.unplanned.push(Unplanned::Late);
        }
        let mark = format!("{}.{site}", self.asked.id);
        if header(answer, "x-chaos") != Some(&mark) {
            return self.fault(format!("the answer of another: {:?}, not {mark}", answer.headers));
        }
        self.passed_over(Some(site));
        let fate = self.judge.deed(self.asked, site);
        let hopped = self.records.iter().any(|record| parse(&record.target).is_some_and(|(_, hop)| hop));
        match (&fate, &answer.broken) {
            (Fate::Redirect, _) if hopped => {
                let hop = Deed::of(self.judge.seed, self.judge.phase, self.asked, site, true).fate;
                self.is_sent(&hop, answer, site);
            }
            (Fate::Redirect, None) if answer.status == 307 => {
                let kept = !self.asked.may_be_pinned() && !self.judge.ring.answers_redirects;
                if kept {
                    self.fault("a redirect that should have been followed".to_owned());
                }
                self.verdict.got = Some(Got::RedirectAsAnswer);
            }
            _ => self.is_sent(&fate, answer, site),
        }
    }

    /// The answer is what the origin sent: whole if that was, a beginning of it if broken.
    fn is_sent(&mut self, fate: &Fate, answer: &Received, site: usize) {
        let (status, body, cut) = match fate {
            Fate::Answer(status, body) => (*status, body, false),
            Fate::Cut(status, body, _) => (*status, body, true),
            // The balancer did not run for so long that the answer was there when it looked at its clock.
            Fate::Fails(words) if *words == ["timeout"] && self.is_late_one(answer, site) => {
                self.verdict.got = Some(Got::OtherAnswer);
                return self.verdict.unplanned.push(Unplanned::Late);
            }
            other => return self.fault(format!("{} for {other:?}", answer.status)),
        };
        let part = Content::of(body, answer.body.len().min(body.len())) == answer.body;
        if status != answer.status || !part {
            return self.fault(format!("not what was sent: {} {:?}", answer.status, answer.body));
        }
        match (&answer.broken, cut) {
            (None, true) => self.fault("a cut answer that looks whole".to_owned()),
            (None, false) if answer.body.len() < body.len() => {
                self.fault(format!("{} of {} bytes as if whole", answer.body.len(), body.len()));
            }
            (None, false) => {
                let echo = status == 200;
                self.verdict.got = Some(if echo { Got::Echo } else { Got::OtherAnswer });
            }
            (Some(_), true) => self.verdict.got = Some(Got::Broken),
            (Some(_), false) if self.judge.is_rough(site) => {
                self.verdict.got = Some(Got::Broken);
                self.verdict.unplanned.push(Unplanned::Collateral);
            }
            (Some(why), false) => self.fault(format!("broken without need: {why}")),
        }
    }

    /// What an origin sends behind the clock, whole.
    fn is_late_one(&self, answer: &Received, site: usize) -> bool {
        let turn = Deed::of(self.judge.seed, self.judge.phase, self.asked, site, false).turn;
        let whole = turn.body.map(|body| Content::of(&body, body.len()));
        (Some(answer.status), Some(&answer.body)) == (turn.status, whole.as_ref()) && answer.broken.is_none()
    }

    /// The documented text, of an origin that failed in that way as the last of the budget.
    fn exhausted(&mut self, text: &str) {
        let Some((url, reason)) = words(text) else {
            return self.fault(format!("an undocumented 503: {text}"));
        };
        let Some(last) = SITES.iter().position(|site| site.url == url) else {
            return self.fault(format!("an unknown origin: {text}"));
        };
        self.verdict.got = Some(Got::Exhausted);
        self.excused.push(last);
        if self.asked.budget == 1 && last != 0 {
            self.fault(format!("a single attempt at {url}"));
        }
        let planned = self.judge.reasons(self.asked, last);
        if !planned.as_ref().is_some_and(|reasons| reasons.iter().any(|known| known == reason)) {
            match reason {
                "timeout" => self.verdict.unplanned.push(Unplanned::Late),
                "reset" if self.judge.is_rough(last) => self.verdict.unplanned.push(Unplanned::Collateral),
                "reset" => self.verdict.unplanned.push(Unplanned::Other),
                // A hop of Envoy's that fails is final, as is what broke before it.
                _ => self.fault(format!("{text}, not {planned:?}")),
            }
        }
        self.passed_over(None);
        if self.asked.may_be_pinned() || self.judge.ring.ends_at(&self.judge.deed(self.asked, last)) {
            return;
        }
        let tried = self.judge.ring.before(last, self.asked.budget);
        if let Some(other) = self.visited.iter().find(|site| !tried.contains(site)) {
            self.fault(format!("site {other} was asked, though {tried:?} are the budget before {url}"));
        }
        tried.into_iter().for_each(|site| self.excuse(site));
    }

    /// Every origin that was asked before the one that answered has failed, in the order of the list.
    fn passed_over(&mut self, answered: Option<usize>) {
        let visited = self.visited.clone();
        let end = visited.len() - usize::from(answered.is_some());
        for &site in visited.iter().take(end) {
            self.excuse(site);
        }
        let (Some(&first), Some(&last)) = (visited.first(), visited.last()) else { return };
        let way = self.judge.ring.from(first, last);
        if !visited.iter().eq(way.iter().filter(|site| visited.contains(site))) {
            self.fault(format!("asked in the order {visited:?}"));
        }
        if way.len() > self.asked.budget {
            self.fault(format!("{way:?} are more than the budget"));
        }
        for &site in way.iter().filter(|site| !visited.contains(site)) {
            self.excuse(site);
        }
    }

    /// The plan says that an attempt at a site fails, or something has to be counted.
    fn excuse(&mut self, site: usize) {
        if self.excused.contains(&site) {
            return;
        }
        self.excused.push(site);
        if self.judge.reasons(self.asked, site).is_none() {
            let rough = self.judge.is_rough(site);
            self.verdict.unplanned.push(if rough { Unplanned::Collateral } else { Unplanned::Other });
        }
    }

    /// Envoy holds a client back whose origin does not read, and then calls it silent. Elsewhere it is a
    /// client that did not run for as long as its clock: that is counted.
    fn client_timeout(&mut self) {
        self.verdict.got = Some(Got::ClientTimeout);
        if self.asked.size() == 0 {
            self.fault("408 for a request without a body".to_owned());
        } else if !self.judge.ring.holds_clients_back {
            self.verdict.unplanned.push(Unplanned::Late);
        }
    }
}

/// `all backends failed: backend <origin> returned HTTP 502` or `.. unavailable (reset)`.
fn words(text: &str) -> Option<(&str, &str)> {
    let (url, what) = text.strip_prefix("all backends failed: backend ")?.split_once(' ')?;
    let status = what.strip_prefix("returned ");
    status.or_else(|| what.strip_prefix("unavailable (")?.strip_suffix(')')).map(|reason| (url, reason))
}

fn header<'a>(answer: &'a Received, name: &str) -> Option<&'a str> {
    let line = answer.headers.iter().find(|(known, _)| known == name)?;
    std::str::from_utf8(&line.1).ok()
}
