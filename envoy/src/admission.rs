//! The stream in front of the router: admission by the policy. What is admitted goes on as it is.

use crate::environment::settings;
use crate::health::HEALTH_PERIOD;
use crate::hop;
use crate::hostcalls::{self, Section};
use crate::limits;
use crate::plugin::Shared;
use crate::streams::{Passed, Stream};
use crate::wiring::{FORWARDED_PROTO, HOP_FIELD, INTERNAL_FIELDS, PEER_FIELD, dropped_natively};
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::headers::{Field, Headers};
use messageweave_lb::policy::health::accept::Form;
use messageweave_lb::policy::health::misconfigured;
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upgrade::Scheme;
use proxy_wasm::types::{Action, Status};
use std::mem;

/// Decides about a stream by its head.
pub(crate) fn decide(stream: &mut Stream, shared: &Shared, whole: bool) -> Result<Action, Status> {
    let mut fields = hostcalls::fields(Section::Request);
    #[cfg(feature = "trap")]
    trap(&fields);
    if let Some(chain) = hop::recognize(&fields) {
        chain.send(fields)?;
        stream.passed = Passed::Redirected(Box::new(chain));
        return Ok(Action::Continue);
    }
    let Some(head) = Head::take_from(&mut fields) else {
        // A request target that is no text is no request (RFC 9112 section 3.2).
        return refuse(&Reply::malformed_host());
    };
    let headers = hostcalls::plain(fields);
    let peer = headers.first(PEER_FIELD).map(<[u8]>::to_vec);
    let (scheme, count) = (arrived(&headers), Count::of(&headers));
    let decision = admit(
        settings(),
        RequestHead {
            method: &head.method,
            path_with_query: Some(&head.path),
            scheme: Some(scheme),
            authority: Some(&head.authority),
            headers,
            peer: peer.as_deref(),
        },
    )
    .counted(limits::count);
    match decision {
        Decision::Reply(reply) => stream.refuse(&reply),
        Decision::Health(form) if !shared.matches(stream.id) => refuse(&misconfigured(settings(), form)),
        Decision::Health(form) => stream.show_health(shared, form),
        Decision::Forward(plan) if !shared.matches(stream.id) => {
            refuse(&Reply::misconfigured().with_usage(plan.usage))
        }
        Decision::Forward(plan) => stream.forward(*plan, &count, whole),
    }
}

impl Stream {
    fn forward(&mut self, plan: Plan<'static>, count: &Count, whole: bool) -> Result<Action, Status> {
        if count.has_more_to_remove(&plan.headers) {
            scrub(&plan.headers)?;
        }
        if let Some(usage) = plan.usage {
            limits::tell(usage)?;
        }
        if count.marked {
            // Only the filter makes a hop.
            hostcalls::remove_field(Section::Request, HOP_FIELD)?;
        }
        let carries_body = plan.target.method().carries_body();
        self.passed = Passed::Planned { target: plan.target, attempts: plan.attempts };
        if whole {
            return Ok(Action::Continue);
        }
        self.heard = Some(Millis::ZERO);
        if carries_body {
            return Ok(Action::Continue);
        }
        // Envoy frames a request before its body ends: an announced body becomes an empty one. No clock of
        // Envoy's runs, and no redirect is followed, before that end: the request waits for it here.
        self.drops_body = true;
        hostcalls::set_field(Section::Request, "content-length", b"0")?;
        Ok(Action::Pause)
    }

    fn refuse(&mut self, reply: &Reply) -> Result<Action, Status> {
        let content_type = reply.headers.iter().find(|(name, _)| name == "content-type");
        if let Some((_, value)) = content_type.filter(|_| reply.body.is_empty()) {
            self.passed = Passed::Replied(value.clone());
        }
        refuse(reply)
    }

    fn show_health(&self, shared: &Shared, form: Form) -> Result<Action, Status> {
        let mut probes = shared.probes.borrow_mut();
        let now = hostcalls::now();
        if let Some(reply) = probes.known(now, form) {
            return refuse(&reply);
        }
        probes.wait_for(self.id, now, form);
        shared.wake(self.id, HEALTH_PERIOD);
        Ok(Action::Pause)
    }
}

/// The last statement of a callback.
fn refuse(reply: &Reply) -> Result<Action, Status> {
    hostcalls::reply(reply)?;
    Ok(Action::Pause)
}

/// What admission needs of the head besides its fields.
struct Head {
    method: String,
    path: String,
    authority: String,
}

impl Head {
    fn take_from(fields: &mut [Field]) -> Option<Self> {
        let mut text = |name: &str| {
            let found = fields.iter_mut().find(|(known, _)| known == name);
            String::from_utf8(found.map(|(_, value)| mem::take(value)).unwrap_or_default()).ok()
        };
        Some(Self { method: text(":method")?, path: text(":path")?, authority: text(":authority")? })
    }
}

fn arrived(headers: &Headers) -> Scheme {
    match headers.first(FORWARDED_PROTO) {
        Some(b"https") => Scheme::Https,
        _ => Scheme::Http,
    }
}

/// How many fields there are, and how many of them the rendered routes remove by themselves, whatever
/// the policy says: mostly that is all that is dropped, and no hostcall is spent on any.
struct Count {
    all: usize,
    native: usize,
    /// Whether the client has sent the mark of a redirect hop.
    marked: bool,
}

impl Count {
    fn of(headers: &Headers) -> Self {
        let fields = headers.as_slice();
        let native = |(name, _): &&Field| dropped_natively().any(|known| known == name);
        let native = fields.iter().filter(native).count();
        Self { all: fields.len(), native, marked: headers.first(HOP_FIELD).is_some() }
    }

    fn has_more_to_remove(&self, kept: &Headers) -> bool {
        kept.as_slice().len().saturating_add(self.native) != self.all
    }
}

/// Removes what the policy does not forward and the rendered routes do not remove themselves.
fn scrub(kept: &Headers) -> Result<(), Status> {
    for (name, _) in hostcalls::fields(Section::Request) {
        let stays = name.starts_with(':')
            || dropped_natively().any(|known| known == name)
            || INTERNAL_FIELDS.contains(&name.as_str());
        // Framing is Envoy's.
        if !stays && name != "content-length" && kept.first(&name).is_none() {
            hostcalls::remove_field(Section::Request, &name)?;
        }
    }
    Ok(())
}

#[cfg(feature = "trap")]
fn trap(fields: &[Field]) {
    if fields.iter().any(|(name, _)| name == "x-lb-trap") {
        std::process::abort();
    }
}
