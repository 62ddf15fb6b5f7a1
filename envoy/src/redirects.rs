//! The role behind the router: it sees the answer of each try before the router does, and turns a
//! redirect that the policy follows into one that the router follows (contract 2.7). Any other
//! redirect loses its `location` on the way through the router, so that the router passes it on.

use crate::answer::status;
use crate::environment::settings;
use crate::hostcalls::{self, Section};
use crate::marker::Marker;
use crate::wiring::{
    ANSWERED_FIELD, ASKED_FIELD, FORWARDED_PROTO, HIDDEN_LOCATION, HOP_FIELD, METADATA, METADATA_ORIGIN,
};
use messageweave_lb::policy::exchange::BACKEND_FIELD;
use messageweave_lb::policy::failure::Failure;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::method::Method;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{Hop, Redirected, follow_configured};
use proxy_wasm::types::{Action, Status};

/// Envoy's metadata of the endpoint that a try went to.
pub(crate) const ENDPOINT: [&str; 5] =
    ["xds", "upstream_host_metadata", "filter_metadata", METADATA, METADATA_ORIGIN];

/// Stands for whatever is none.
const NO_STATUS: &[u8] = b"1000";

/// The answer of one try, of which nothing need be known but itself.
pub(crate) fn judge() -> Action {
    let status = status();
    if (300..400).contains(&status) {
        // What steers a redirect is read before what `connection` names is dropped.
        let response = hostcalls::plain(hostcalls::fields(Section::Response));
        let _ = drop_nominated();
        // A call that fails leaves a redirect that the router does not follow.
        let _ = rewrite(status, &response);
        return Action::Continue;
    }
    if let Some(Failure::Class(_)) = Failure::of_status(status) {
        // The router and its log know one above all as a failure.
        let _ = hostcalls::set_field(Section::Response, ":status", NO_STATUS);
    }
    let _ = drop_nominated();
    Action::Continue
}

/// Removes the fields that the origin's `connection` names (RFC 9110 section 7.6.1). Mostly it names
/// none.
fn drop_nominated() -> Result<(), Status> {
    let connection = hostcalls::field(Section::Response, "connection").unwrap_or_default();
    let plain: [&[u8]; 3] = [b"", b"close", b"keep-alive"];
    if plain.iter().any(|known| connection.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let before = hostcalls::plain(hostcalls::fields(Section::Response));
    let mut after = before.clone();
    after.drop_hop_by_hop();
    for (name, _) in before.as_slice() {
        // What Envoy has put there for the client and for the filter in front stays.
        let ours = [BACKEND_FIELD, ANSWERED_FIELD].contains(&name.as_str());
        if name != "connection" && !ours && after.first(name).is_none() {
            hostcalls::remove_field(Section::Response, name)?;
        }
    }
    Ok(())
}

fn rewrite(status: u16, response: &Headers) -> Result<(), Status> {
    // What the client is told where the router does not follow.
    let told = response.first("location").filter(|_| !response.nominates("location"));
    let location = told.unwrap_or_default().to_vec();
    let asked = response.first(ASKED_FIELD).and_then(Asked::read);
    let followed = asked.and_then(|asked| Some((asked.redirected_to(status, response)?, asked)));
    let Some((hop, Asked { origin, method, .. })) = followed else {
        return hide(response);
    };
    let marker = Marker { origin, method, status, location };
    let url = [hop.target.origin().as_str(), hop.target.path_with_query()].concat();
    // Envoy's router keeps the method on 307 and makes a GET without a body of 303.
    let status = if hop.method == method { "307" } else { "303" };
    hostcalls::set_field(Section::Response, HOP_FIELD, &marker.encode())?;
    if !settings().trust_forwarded_proto {
        // Removed for the origin, but a request without it has no route.
        hostcalls::set_field(Section::Response, FORWARDED_PROTO, b"https")?;
    }
    hostcalls::set_field(Section::Response, ":status", status.as_bytes())?;
    hostcalls::set_field(Section::Response, "location", url.as_bytes())
}

/// Keeps the router from following.
fn hide(response: &Headers) -> Result<(), Status> {
    if response.first("location").is_none() {
        return Ok(());
    }
    hostcalls::remove_field(Section::Response, "location")?;
    if response.nominates("location") {
        return Ok(());
    }
    response
        .all("location")
        .try_for_each(|value| hostcalls::add_field(Section::Response, HIDDEN_LOCATION, value))
}

/// What the try asked for.
struct Asked {
    origin: Origin,
    method: Method,
    path_with_query: String,
}

impl Asked {
    fn read(line: &[u8]) -> Option<Self> {
        let (name, path_with_query) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let origin = hostcalls::property(&ENDPOINT)?;
        Some(Self {
            origin: Origin::parse(std::str::from_utf8(&origin).ok()?).ok()?,
            method: Method::named(name)?,
            path_with_query: path_with_query.to_owned(),
        })
    }

    fn redirected_to(&self, status: u16, response: &Headers) -> Option<Hop> {
        let request = Redirected {
            origin: &self.origin,
            path_with_query: &self.path_with_query,
            method: self.method,
            headers: &Headers::default(),
            body: self.method.carries_body(),
            // Whether the body can be sent again the router knows: it passes the redirect on if not.
            replayable: true,
        };
        follow_configured(status, response, request, settings().origins())
    }
}
