//! The names of the rendered clusters. How long a connection may take to come about is a property of a
//! cluster in Envoy, and part of its name where it is shorter than `LB_REQUEST_TIMEOUT_MS`: the routes
//! whose own clock is shorter have clusters of their own.

use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;

const MEMBER: &str = "origin-";
const ROTATION: &str = "from-";
const FIRST: &str = "first";
const HOP: &str = "hop-";
const WITHIN: &str = "-within-";

/// The bound of connecting, where it is not the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connecting(Option<u64>);

impl Connecting {
    /// Within `LB_REQUEST_TIMEOUT_MS`.
    pub const ORDINARY: Self = Self(None);

    /// For a route with that clock.
    #[must_use]
    pub fn of(timeout: Millis, settings: &Settings) -> Self {
        Self(Some(timeout.0).filter(|_| timeout < settings.request_timeout))
    }

    /// For the clusters of a name.
    #[must_use]
    pub fn named(cluster: &[u8]) -> Self {
        let name = std::str::from_utf8(cluster).unwrap_or_default();
        // The search for a character is less code than that for a text.
        let parts = name.rsplit_once('-').filter(|(kind, _)| kind.ends_with("-within"));
        Self(parts.and_then(|(_, millis)| millis.parse().ok()))
    }

    /// How long that is, in ms.
    #[must_use]
    pub fn bound(self, settings: &Settings) -> u64 {
        self.0.unwrap_or(settings.request_timeout.0)
    }

    /// The cluster of one origin.
    #[must_use]
    pub fn member(self, index: usize) -> String {
        self.name(MEMBER, &index.to_string())
    }

    /// The cluster that tries the origins from that one on, wrapping.
    #[must_use]
    pub fn rotation(self, index: usize) -> String {
        self.name(ROTATION, &index.to_string())
    }

    /// The cluster of requests with one attempt: the first origin, and never another.
    #[must_use]
    pub fn first(self) -> String {
        self.name(FIRST, "")
    }

    /// The cluster of a redirect hop to that origin: one try.
    #[must_use]
    pub fn hop(self, index: usize) -> String {
        self.name(HOP, &index.to_string())
    }

    fn name(self, kind: &str, index: &str) -> String {
        match self.0 {
            None => [kind, index].concat(),
            Some(millis) => [kind, index, WITHIN, &millis.to_string()].concat(),
        }
    }
}

/// The origin from which a cluster of that name tries them on.
#[must_use]
pub fn start_of(cluster: &[u8]) -> Option<usize> {
    if cluster.starts_with(FIRST.as_bytes()) {
        return Some(0);
    }
    let rest = std::str::from_utf8(cluster.strip_prefix(ROTATION.as_bytes())?).ok()?;
    rest.split('-').next()?.parse().ok()
}

/// Whether it is that of a redirect hop.
#[must_use]
pub fn is_hop(cluster: &[u8]) -> bool {
    cluster.starts_with(HOP.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Connecting = Connecting(Some(500));

    #[test]
    fn a_cluster_is_known_by_its_name() {
        for connecting in [Connecting::ORDINARY, SHORT] {
            assert_eq!(start_of(connecting.rotation(12).as_bytes()), Some(12));
            assert_eq!(start_of(connecting.first().as_bytes()), Some(0));
            assert!(is_hop(connecting.hop(1).as_bytes()));
            for name in [connecting.member(3), connecting.rotation(3), connecting.first(), connecting.hop(3)]
            {
                assert_eq!(Connecting::named(name.as_bytes()), connecting, "{name}");
            }
        }
        for name in [&SHORT.member(1), &SHORT.hop(1), "from-", "from-x", "from--within-1"] {
            assert_eq!(start_of(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_shorter_clock_bounds_connecting_too() {
        let settings =
            Settings::from_vars(|name| (name == "LB_REQUEST_TIMEOUT_MS").then(|| "1000".to_owned()));
        for (timeout, bound) in [(999, 999), (1000, 1000), (320_000, 1000)] {
            assert_eq!(Connecting::of(Millis(timeout), &settings).bound(&settings), bound);
        }
    }
}
