//! The limit step of admission: a request whose route has a limit is counted before anything else
//! becomes of it.
//!
//! The shell counts, because the state is its own; what follows from the count is decided here.

use super::super::admission::{Decision, forward};
use super::super::headers::Headers;
use super::super::routes::Target;
use super::super::settings::Settings;
use super::address::Address;
use super::answer::Usage;
use super::key::Secret;
use super::rule::Limit;
use super::table::Counted;
use super::window::Hit;

/// A request that waits to be counted.
#[derive(Debug)]
pub struct Gate<'s> {
    pub(in super::super) settings: &'s Settings,
    pub(in super::super) limit: &'s Limit,
    pub(in super::super) target: Target,
    pub(in super::super) headers: Headers,
    /// The address of its client.
    pub(in super::super) address: Option<Address>,
}

impl<'s> Gate<'s> {
    /// What is to be counted.
    #[must_use]
    pub fn request(&self, secret: Secret) -> Counted {
        Counted::of(secret, self.limit, &self.headers, self.address)
    }

    /// What becomes of the request now that it is counted.
    #[must_use]
    pub fn pass(self, hit: Hit) -> Decision<'s> {
        let (usage, refusal) = Usage::judge(self.limit, hit);
        match refusal {
            Some(reply) => Decision::Reply(reply.with_usage(Some(usage))),
            None => forward(self.settings, self.target, self.headers, Some(usage)),
        }
    }
}
