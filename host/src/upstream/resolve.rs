//! Where a name leads: `--resolve` first, loopback for `localhost` (RFC 6761 section 6.3), nowhere
//! for `invalid` (section 6.4), the system's resolver for the rest.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};
use std::vec;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// The port of an https origin that names none.
const HTTPS_PORT: u16 = 443;

/// `HOST:PORT=ADDR:PORT`: connections for that origin go to that address, as curl's
/// `--connect-to` does. The origin's name stays in Host, SNI and the check of the certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    host: String,
    port: u16,
    address: SocketAddr,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}={}", self.host, self.port, self.address)
    }
}

impl FromStr for Route {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, RouteError> {
        let (origin, address) = text.split_once('=').ok_or(RouteError::NoEquals)?;
        let address = address.parse().map_err(|_| RouteError::Address)?;
        let origin: Authority = origin.parse().map_err(|_| RouteError::Origin)?;
        let port = origin.port_u16().ok_or(RouteError::Origin)?;
        // Origins lose their trailing dot too.
        let host = origin.host();
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        Ok(Self { host, port, address })
    }
}

impl Route {
    /// The authority of its origin, spelt as that of a configured one.
    pub(crate) fn authority(&self) -> String {
        match self.port {
            HTTPS_PORT => self.host.clone(),
            port => format!("{}:{port}", self.host),
        }
    }
}

/// Which half of a `--resolve` is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteError {
    NoEquals,
    Origin,
    Address,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEquals => "expected HOST:PORT=ADDR:PORT",
            Self::Origin => "the part before `=` must be HOST:PORT",
            Self::Address => "the part after `=` must be an IP address and a port",
        })
    }
}

impl std::error::Error for RouteError {}

/// All `--resolve` flags; of two for one origin the last wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes(BTreeMap<(String, u16), SocketAddr>);

impl Routes {
    pub(crate) fn new(routes: &[Route]) -> Self {
        let entries = routes.iter().map(|r| ((r.host.clone(), r.port), r.address));
        Self(entries.collect())
    }

    /// The address to connect to, in place of the origin's own.
    pub(crate) fn address(&self, origin: &Uri) -> Option<SocketAddr> {
        let host = origin.host()?.to_ascii_lowercase();
        let port = origin.port_u16().unwrap_or(HTTPS_PORT);
        self.0.get(&(host, port)).copied()
    }

    /// The URI to open a TCP connection to, in place of the origin's own.
    pub(super) fn destination(&self, origin: &Uri) -> Option<Uri> {
        let address = self.address(origin)?;
        Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(address.to_string())
            .path_and_query(PathAndQuery::from_static("/"))
            .build()
            .ok()
    }
}

/// The resolver below `--resolve`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolver;

/// A name that leads nowhere.
#[derive(Debug)]
pub(super) struct Unresolvable;

impl fmt::Display for Unresolvable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name does not resolve")
    }
}

impl std::error::Error for Unresolvable {}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = Unresolvable;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Unresolvable>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unresolvable>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            if is_within(name.as_str(), "localhost") {
                return Ok(loopback().into_iter());
            }
            if is_within(name.as_str(), "invalid") {
                return Err(Unresolvable);
            }
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found: Vec<_> = found.map_err(|_| Unresolvable)?.collect();
            if found.is_empty() { Err(Unresolvable) } else { Ok(found.into_iter()) }
        })
    }
}

/// The domain itself, or a name below it.
fn is_within(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn loopback() -> Vec<SocketAddr> {
    vec![(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_replaces_the_address_of_its_origin_alone() {
        let route: Route = "A.example:443=127.0.0.1:8443".parse().unwrap();
        let routes = Routes::new(&[route]);
        let to = |uri: &str| routes.destination(&uri.parse().unwrap()).map(|u| u.to_string());
        assert_eq!(to("https://a.example").as_deref(), Some("https://127.0.0.1:8443/"));
        assert_eq!(to("https://a.example:443/x").as_deref(), Some("https://127.0.0.1:8443/"));
        assert_eq!(to("https://a.example:8443"), None);
        assert_eq!(to("https://b.example"), None);
    }

    #[test]
    fn a_route_is_spelt_as_an_origin_is() {
        let authority = |text: &str| text.parse::<Route>().unwrap().authority();
        assert_eq!(authority("A.example.:443=127.0.0.1:1"), "a.example");
        assert_eq!(authority("a.example:8443=127.0.0.1:1"), "a.example:8443");
        assert_eq!(authority("[2001:db8::1]:443=127.0.0.1:1"), "[2001:db8::1]");
    }

    #[test]
    fn a_route_takes_ipv6_on_both_sides() {
        let route: Route = "[2001:db8::1]:8443=[::1]:9000".parse().unwrap();
        let routes = Routes::new(&[route]);
        let to = routes.destination(&"https://[2001:db8::1]:8443".parse().unwrap());
        assert_eq!(to.unwrap().to_string(), "https://[::1]:9000/");
    }

    #[test]
    fn a_bad_route_names_the_half_that_is_wrong() {
        assert_eq!("a.example".parse::<Route>(), Err(RouteError::NoEquals));
        assert_eq!("a.example=127.0.0.1:1".parse::<Route>(), Err(RouteError::Origin));
        assert_eq!("a.example:443=b.example:1".parse::<Route>(), Err(RouteError::Address));
    }

    #[tokio::test]
    async fn localhost_names_lead_to_loopback_without_the_system() {
        for name in ["localhost", "a.localhost", "A.B.LOCALHOST."] {
            let found = Resolver.call(name.parse().unwrap()).await.unwrap();
            assert!(found.into_iter().all(|address| address.ip().is_loopback()), "{name}");
        }
        assert!(!is_within("notlocalhost", "localhost") && !is_within("localhost.example", "localhost"));
    }

    #[tokio::test]
    async fn invalid_names_lead_nowhere_without_the_system() {
        assert!(Resolver.call("a.invalid".parse().unwrap()).await.is_err());
    }
}
