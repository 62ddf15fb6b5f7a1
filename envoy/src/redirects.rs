//! The role behind the router: it sees the answer of each try before the router does, and turns a
//! redirect that the policy follows into one that the router follows (contract 2.7). Any other
//! redirect loses its `location` on the way through the router, so that the router passes it on.

use crate::environment::settings;
use crate::hop::method_of;
use crate::hostcalls::{self, Section};
use crate::marker::Marker;
use crate::wiring::{ASKED_FIELD, FORWARDED_PROTO, HIDDEN_LOCATION, HOP_FIELD, METADATA, METADATA_ORIGIN};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{Hop, Redirected, follow_configured};
use messageweave_lb::policy::safelist::Method;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, Status};

/// Envoy's metadata of the endpoint that a try went to.
pub(crate) const ENDPOINT: [&str; 5] =
    ["xds", "upstream_host_metadata", "filter_metadata", METADATA, METADATA_ORIGIN];

/// One try.
pub(crate) struct TryAnswer;

impl Context for TryAnswer {}

impl HttpContext for TryAnswer {
    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        if hostcalls::field(Section::Response, ":status").is_some_and(|status| status.starts_with(b"3")) {
            // A call that fails leaves a redirect that the router does not follow.
            let _ = rewrite();
        }
        Action::Continue
    }
}

fn rewrite() -> Result<(), Status> {
    let response = hostcalls::plain(hostcalls::fields(Section::Response));
    let status = hostcalls::field(Section::Response, ":status");
    let status =
        status.and_then(|status| std::str::from_utf8(&status).ok()?.parse().ok()).unwrap_or_default();
    let first = response.first("location").unwrap_or_default().to_vec();
    let followed = Asked::read(&response).and_then(|asked| Some((asked.redirected_to(status, &response)?, asked)));
    let Some((hop, Asked { origin, method, .. })) = followed else {
        if response.first("location").is_some() {
            hostcalls::remove_field(Section::Response, "location")?;
            for value in response.all("location") {
                hostcalls::add_field(Section::Response, HIDDEN_LOCATION, value)?;
            }
        }
        return Ok(());
    };
    let marker = Marker { origin, method, status, location: first };
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

/// What the try asked for.
struct Asked {
    origin: Origin,
    method: Method,
    path_with_query: String,
}

impl Asked {
    fn read(response: &Headers) -> Option<Self> {
        let asked = response.first(ASKED_FIELD)?;
        let (method, path_with_query) = asked.split_at(asked.iter().position(|byte| *byte == b' ')?);
        let path_with_query = path_with_query.trim_ascii_start();
        let origin = hostcalls::property(&ENDPOINT)?;
        Some(Self {
            origin: Origin::parse(std::str::from_utf8(&origin).ok()?).ok()?,
            method: method_of(method)?,
            path_with_query: String::from_utf8(path_with_query.to_vec()).ok()?,
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
