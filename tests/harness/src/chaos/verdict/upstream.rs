//! What origins saw of a request.

use super::Trial;
use crate::case::Body;
use crate::chaos::deed::Fate;
use crate::chaos::request::parse;
use crate::chaos::weather::SITES;
use crate::evidence::{Content, Progress, Recorded};

impl Trial<'_> {
    /// No origin twice, no more than the budget, and no body but the client's own.
    pub(super) fn upstream(&mut self) {
        let mut hops = Vec::new();
        for record in self.records {
            let Some(site) = SITES.iter().position(|site| site.url == record.origin) else { continue };
            let hop = parse(&record.target).is_some_and(|(_, hop)| hop);
            let target = [self.asked.request.target.as_str(), if hop { "&hop=1" } else { "" }].concat();
            if record.target != target.as_bytes() || record.method != self.asked.request.method {
                self.fault(format!(
                    "{} saw {} {}",
                    record.origin,
                    record.method,
                    record.target.escape_ascii()
                ));
            }
            self.body_of(record);
            if hop {
                let led = matches!(self.judge.deed(self.asked, site), Fate::Redirect);
                if !led || self.visited.last() != Some(&site) {
                    self.fault(format!("a hop to {} that nobody sent there", record.origin));
                }
                if hops.contains(&site) {
                    self.fault(format!("{} was asked twice for one hop", record.origin));
                }
                hops.push(site);
            } else if self.visited.contains(&site) {
                self.fault(format!("{} was asked twice", record.origin));
            } else {
                self.visited.push(site);
            }
        }
        if self.visited.len() > self.asked.budget {
            self.fault(format!("{} origins were asked", self.visited.len()));
        }
    }

    fn body_of(&mut self, record: &Recorded) {
        let none = Body::default();
        let body = self.asked.request.body.as_ref().unwrap_or(&none);
        let whole = body.len() == record.body.len();
        if record.body.len() > body.len() || Content::of(body, record.body.len()) != record.body {
            self.fault(format!("{} got another body: {:?}", record.origin, record.body));
        } else if !whole && record.progress == Progress::Complete {
            let got = record.body.len();
            self.fault(format!("{} got {got} of {} bytes as if whole", record.origin, body.len()));
        }
    }
}
