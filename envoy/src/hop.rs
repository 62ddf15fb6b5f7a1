//! Redirect hops (contract 2.7). Envoy's router makes a new request of a redirect that the policy
//! follows and sends it through the filter again; here it gets the fields and the place that the
//! policy says.
//!
//! What is known of the chain travels in a property of the client's stream: no client can set it.

use crate::cluster::Connecting;
use crate::environment::{self, settings};
use crate::hostcalls::{self, Section};
use crate::marker::Marker;
use crate::wiring::{ADDED_BY_ENVOY, CLUSTER_FIELD, HOP_FIELD, INTERNAL_FIELDS, TRY_TIMEOUT_FIELD};
use messageweave_lb::policy::headers::{Field, Headers};
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{Hop, Redirected, follow_configured};
use messageweave_lb::policy::routes::Target;
use proxy_wasm::types::Status;

const CHAIN: &str = "lb.chain";
/// Envoy's own count of the redirects of a stream: there on redirected streams alone.
const REDIRECTS: [&str; 2] = ["filter_state", "num_internal_redirects"];
/// Where Envoy keeps the client's own target: it sets it on the request that it makes of a redirect, and
/// strips it from clients' requests.
const ORIGINAL_URL: &str = "x-envoy-original-url";

/// The way that a client's request has taken.
pub(crate) struct Chain {
    /// The client's target.
    pub(crate) target: Target,
    /// The place of the origin that was chosen.
    pub(crate) chosen: usize,
    /// Hops so far, this one included.
    pub(crate) hops: u32,
    marker: Marker,
}

/// Once per plugin and worker.
pub(crate) fn declare() {
    // A second declaration of the same is refused and does no harm.
    let _ = hostcalls::declare_property(CHAIN);
}

/// The chain to which a request belongs that Envoy made of a redirect; nothing for a client's own,
/// whatever fields it has.
pub(crate) fn recognize(fields: &[Field]) -> Option<Chain> {
    if find(fields, ORIGINAL_URL).is_none() || hostcalls::property(&REDIRECTS).is_none() {
        return None;
    }
    let marker = Marker::decode(find(fields, HOP_FIELD)?)?;
    let origins = settings().origins();
    let known = hostcalls::property(&[CHAIN]).and_then(|bytes| decode(&bytes));
    let (target, chosen, hops) = match known {
        Some(known) => known,
        None => {
            let chosen = origins.iter().position(|origin| *origin == marker.origin)?;
            (original(fields, &marker)?, chosen, 0)
        }
    };
    let chain = Chain { target, chosen, hops: hops.saturating_add(1), marker };
    let _ = hostcalls::set_property(CHAIN, chain.encode().as_bytes());
    Some(chain)
}

impl Chain {
    /// Gives the hop its cluster and its clock, and takes away what must not travel.
    pub(crate) fn send(&self, fields: Vec<Field>) -> Result<(), Status> {
        let origins = settings().origins();
        let hop = self.hop(&fields);
        let place =
            hop.as_ref().and_then(|hop| origins.iter().position(|origin| origin == hop.target.origin()));
        // A hop that the rule does not make has no cluster, so that Envoy sends it nowhere.
        let (Some(hop), Some(place)) = (hop, place) else {
            return hostcalls::remove_field(Section::Request, CLUSTER_FIELD);
        };
        for (name, _) in &fields {
            if is_clients(name) && hop.headers.first(name).is_none() {
                hostcalls::remove_field(Section::Request, name)?;
            }
        }
        let timeout = settings().timeout(self.target.bounds());
        let cluster = Connecting::of(timeout, settings()).hop(place);
        hostcalls::set_field(Section::Request, TRY_TIMEOUT_FIELD, timeout.0.to_string().as_bytes())?;
        hostcalls::set_field(Section::Request, CLUSTER_FIELD, cluster.as_bytes())
    }

    /// The rule once more, with the client's fields this time.
    fn hop(&self, fields: &[Field]) -> Option<Hop> {
        let own = fields.iter().filter(|(name, _)| is_clients(name));
        let headers = Headers::new(own.cloned().collect());
        let location = [b"https://", find(fields, ":authority")?, find(fields, ":path")?].concat();
        let location = Headers::new(vec![("location".to_owned(), location)]);
        let request = Redirected {
            origin: &self.marker.origin,
            path_with_query: "/",
            method: self.marker.method,
            headers: &headers,
            body: self.marker.method.carries_body(),
            replayable: true,
        };
        follow_configured(self.marker.status, &location, request, settings().origins())
    }

    /// The origin that was chosen.
    pub(crate) fn chosen(&self) -> Option<&'static Origin> {
        settings().origins().get(self.chosen)
    }

    /// `<hops> <chosen> <method> <path>`
    fn encode(&self) -> String {
        let Self { target, chosen, hops, .. } = self;
        format!("{hops} {chosen} {} {}", target.method(), target.path())
    }
}

/// Neither a pseudo field nor one of Envoy's and the filter's.
fn is_clients(name: &str) -> bool {
    !name.starts_with(':') && !INTERNAL_FIELDS.contains(&name) && !ADDED_BY_ENVOY.contains(&name)
}

fn decode(bytes: &[u8]) -> Option<(Target, usize, u32)> {
    let mut parts = std::str::from_utf8(bytes).ok()?.splitn(4, ' ');
    let (hops, chosen) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (method, path) = (parts.next()?, parts.next()?);
    Some((environment::target(path, method)?, chosen, hops))
}

/// The client's own target, from the URL that Envoy keeps and the method that was redirected.
fn original(fields: &[Field], marker: &Marker) -> Option<Target> {
    let url = std::str::from_utf8(find(fields, ORIGINAL_URL)?).ok()?;
    let (_, rest) = url.split_once("://")?;
    let path = rest.get(rest.find('/')?..)?;
    environment::target(path, marker.method.as_str())
}

fn find<'a>(fields: &'a [Field], name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
}
