//! The plan of a forwarded request: what goes where, how often and how long (contract 2.6).
//!
//! The wasi shells run a plan with the exchange; a host with a router of its own reads it.

use super::headers::Headers;
use super::limit::answer::Usage;
use super::origin::Origin;
use super::routes::Target;
use super::settings::Settings;
use super::time::Millis;
use super::upload::Framing;
use std::slice;

/// A request that passed admission.
#[derive(Debug, Clone)]
pub struct Plan<'s> {
    /// The configuration under which it was admitted.
    pub settings: &'s Settings,
    /// What the first request of every attempt asks for.
    pub target: Target,
    /// The client's fields that travel.
    pub headers: Headers,
    /// How the client's body is announced.
    pub framing: Framing,
    /// The origins to choose from.
    pub origins: &'s [Origin],
    /// The most attempts; never more than there are origins.
    pub attempts: u32,
    /// The clock of each attempt.
    pub timeout: Millis,
    /// The largest replay copy, in bytes.
    pub replay_max_bytes: usize,
    /// What the client has left of the route's limit: every answer says it.
    pub usage: Option<Usage>,
    /// Whether this is a health probe, which has no client.
    pub probe: bool,
    /// Whether redirects are followed to configured origins alone, as a host does that reaches no
    /// other (contract 2.7).
    pub confined: bool,
}

impl<'s> Plan<'s> {
    /// The plan of a client's request.
    #[must_use]
    pub fn forward(settings: &'s Settings, target: Target, mut headers: Headers) -> Self {
        headers.keep_for_origin();
        let framing = framing(&target, &headers);
        if !target.method().carries_body() {
            headers.retain(|name| name != "content-length");
        }
        let bounds = target.bounds();
        Self {
            settings,
            headers,
            framing,
            origins: settings.origins(),
            attempts: settings.attempts(bounds),
            timeout: settings.timeout(bounds),
            replay_max_bytes: settings.replay_max_bytes,
            target,
            usage: None,
            probe: false,
            confined: false,
        }
    }

    /// The plan of a health probe: `GET /healthz` with no field of any client's, one attempt.
    #[must_use]
    pub fn probe(settings: &'s Settings, origin: &'s Origin) -> Self {
        let mut plan = Self::forward(settings, Target::health_probe(), Headers::default());
        plan.origins = slice::from_ref(origin);
        plan.attempts = 1;
        plan.probe = true;
        plan
    }

    /// The length that the client announces; as much as there can be where it is beyond counting.
    #[must_use]
    pub fn content_length(&self) -> usize {
        let digits = self.headers.first("content-length").and_then(|value| std::str::from_utf8(value).ok());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX)
    }

    /// The origins in the order in which they are tried: from a random one when there is more than
    /// one origin and more than one attempt, otherwise from the first; wrapping, none twice.
    pub fn order(&self, dice: u64) -> impl Iterator<Item = &'s Origin> + use<'s> {
        let attempts = usize::try_from(self.attempts).unwrap_or(usize::MAX);
        self.origins.iter().cycle().skip(self.start(dice)).take(attempts.min(self.origins.len()))
    }

    /// The place of the first origin in that order, for a host whose own router makes the tries.
    #[must_use]
    pub fn start(&self, dice: u64) -> usize {
        let count = starts(self.attempts, self.origins.len());
        // The remainder is below `count`, so it fits.
        dice.checked_rem(count as u64).and_then(|place| usize::try_from(place).ok()).unwrap_or_default()
    }
}

/// From how many origins, the first so many of the list, a request may start, each as likely: from
/// all if there is more than one attempt, else from the first alone.
#[must_use]
pub const fn starts(attempts: u32, origins: usize) -> usize {
    if attempts > 1 || origins == 0 { origins } else { 1 }
}

/// How the client announces its body (RFC 9112 section 6.3). GET and HEAD carry none.
fn framing(target: &Target, headers: &Headers) -> Framing {
    if !target.method().carries_body() {
        return Framing::Empty;
    }
    match headers.first("content-length") {
        Some(b"0") => Framing::Empty,
        Some(digits) if digits.iter().all(u8::is_ascii_digit) => Framing::Length,
        _ => Framing::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::Policy;
    use super::*;

    fn settings(attempts: &str) -> Settings {
        Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(r#"["https://a","https://b","https://c"]"#.to_owned()),
            "LB_MAX_ATTEMPTS" => Some(attempts.to_owned()),
            _ => None,
        })
    }

    fn order(attempts: &str, path: &str, method: &str, dice: u64) -> String {
        let settings = settings(attempts);
        let target = Policy::built_in().routes.of_record(path, method).unwrap();
        let plan = Plan::forward(&settings, target, Headers::default());
        plan.order(dice).map(Origin::authority).collect()
    }

    #[test]
    fn the_order_starts_at_random_wraps_and_never_repeats() {
        assert_eq!(order("2", "/ready", "GET", 0), "ab");
        assert_eq!(order("2", "/ready", "GET", 2), "ca");
        assert_eq!(order("9", "/ready", "GET", 4), "bca");
        assert_eq!(order("3", "/ready", "GET", u64::MAX), "abc");
    }

    #[test]
    fn a_single_attempt_goes_to_the_first_origin() {
        assert_eq!(order("1", "/ready", "GET", 2), "a");
        assert_eq!(order("3", "/worker", "POST", 2), "a");
        assert_eq!(order("3", "/reconcile", "POST", 1), "a");
    }

    #[test]
    fn the_framing_is_read_from_the_content_length() {
        for (value, framing) in
            [(Some("0"), Framing::Empty), (Some("12"), Framing::Length), (None, Framing::Unknown)]
        {
            let settings = settings("1");
            let target = Policy::built_in().routes.of_record("/worker", "POST").unwrap();
            let mut headers = Headers::default();
            if let Some(value) = value {
                headers.set("content-length", value);
            }
            let plan = Plan::forward(&settings, target, headers);
            assert_eq!(plan.framing, framing);
        }
    }
}
