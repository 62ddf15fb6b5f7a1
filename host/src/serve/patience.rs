//! How long requests may still take once the host is stopping. No origin is waited for longer than the
//! clocks say; a client that sends its body byte by byte, or takes its answer so, could take for ever.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use messageweave_lb::policy::settings::Settings;
use tokio::time::Instant;

/// For an answer whose head came at the last moment to reach its client.
const ANSWER: Duration = Duration::from_secs(5);
/// The most that a variable may say.
const LONGEST: Duration = Duration::from_millis(2_147_483_647);

/// What the configurations so far allow.
pub(super) struct Patience(Mutex<State>);

struct State {
    /// The longest wait of a request that begins now.
    wait: Duration,
    /// When requests of earlier configurations have waited long enough.
    earlier: Instant,
}

impl Patience {
    pub(super) fn new(settings: &Settings) -> Self {
        Self(Mutex::new(State { wait: longest_wait(settings), earlier: Instant::now() }))
    }

    /// Requests in flight keep what they began with.
    pub(super) fn reload(&self, settings: &Settings) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.earlier = state.earlier.max(Instant::now() + state.wait);
        state.wait = longest_wait(settings);
    }

    /// When a host that stops now waits for nobody any more.
    pub(super) fn end(&self) -> Instant {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.earlier.max(Instant::now() + state.wait) + ANSWER
    }
}

/// Attempts times clock, of the route where that is the most. A health probe has the clock of one attempt.
fn longest_wait(settings: &Settings) -> Duration {
    let routes = settings.policy.iter().flat_map(|policy| policy.routes.iter());
    let waits = routes.map(|route| {
        let timeout = Duration::from_millis(settings.timeout(route.bounds).0);
        timeout.saturating_mul(settings.attempts(route.bounds))
    });
    waits.fold(Duration::from_millis(settings.request_timeout.0), Duration::max).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Settings {
        let origins = ("BACKEND_ORIGINS_JSON", r#"["https://a.example", "https://b.example"]"#);
        Settings::from_vars(|name| {
            let mut given = variables.iter().chain([&origins]);
            given.find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_longest_wait_is_that_of_the_slowest_route() {
        assert_eq!(longest_wait(&of(&[])), Duration::from_secs(320));
        let jobs = [("LB_RECONCILE_TIMEOUT_MS", "5"), ("LB_WORKER_TIMEOUT_MS", "5")];
        assert_eq!(longest_wait(&of(&jobs)), Duration::from_secs(20));
        assert_eq!(longest_wait(&of(&[("LB_WORKER_TIMEOUT_MS", "2147483647")])), LONGEST);
        assert_eq!(longest_wait(&of(&[("LB_POLICY_JSON", "bad")])), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_an_earlier_configuration_keeps_its_time() {
        let start = Instant::now();
        let patience = Patience::new(&of(&[]));
        tokio::time::advance(Duration::from_secs(100)).await;
        let short = of(&[("LB_RECONCILE_TIMEOUT_MS", "5"), ("LB_WORKER_TIMEOUT_MS", "5")]);
        patience.reload(&short);
        assert_eq!(patience.end(), start + Duration::from_secs(425));
        tokio::time::advance(Duration::from_secs(400)).await;
        assert_eq!(patience.end(), start + Duration::from_secs(525));
    }
}
