//! The stream in front of the router: admission by the policy. What is admitted goes on as it is.

use crate::answer::{self, Passed};
use crate::environment::settings;
use crate::health::HEALTH_PERIOD;
use crate::hop::{self, Chain};
use crate::hostcalls::{self, Section};
use crate::limits;
use crate::plugin::Shared;
use crate::upload;
use crate::wiring::{FORWARDED_PROTO, HOP_FIELD, INTERNAL_FIELDS, PEER_FIELD, dropped_natively};
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::headers::{Field, Headers};
use messageweave_lb::policy::health::accept::Form;
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::upgrade::Scheme;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, Status};
use std::rc::Rc;

/// One pass of a client's request through the filter; a followed redirect is another.
pub(crate) struct Stream {
    id: u32,
    shared: Rc<Shared>,
    passed: Passed,
    /// GET and HEAD carry no body upstream.
    drops_body: bool,
}

impl Stream {
    pub(crate) const fn new(id: u32, shared: Rc<Shared>) -> Self {
        Self { id, shared, passed: Passed::No, drops_body: false }
    }

    fn decide(&mut self, fields: Vec<Field>, whole: bool) -> Result<Action, Status> {
        if let Some(chain) = hop::recognize(&fields) {
            return self.follow(chain, fields);
        }
        let peer = fields.iter().find(|(name, _)| name == PEER_FIELD).map(|(_, value)| value.clone());
        let (pseudo, headers) = split(fields);
        let Some(head) = Head::read(&pseudo) else {
            // A request target that is no text is no request (RFC 9112 section 3.2).
            return refuse(&Reply::malformed_host());
        };
        let (scheme, count) = (arrived(&headers), Count::of(&headers));
        let decision = admit(
            settings(),
            RequestHead {
                method: head.method,
                path_with_query: Some(head.path),
                scheme: Some(scheme),
                authority: Some(head.authority),
                headers,
                peer: peer.as_deref(),
            },
        )
        .counted(limits::count);
        match decision {
            Decision::Reply(reply) => self.refuse(&reply),
            Decision::Health(form) => self.show_health(form),
            Decision::Forward(plan) if !self.shared.matches => {
                refuse(&Reply::misconfigured().with_usage(plan.usage))
            }
            Decision::Forward(plan) => self.forward(&plan, &count, whole),
        }
    }

    fn forward(&mut self, plan: &Plan<'static>, count: &Count, whole: bool) -> Result<Action, Status> {
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
        self.passed = Passed::Planned { target: plan.target.clone(), attempts: plan.attempts };
        if whole {
            return Ok(Action::Continue);
        }
        self.shared.uploads.borrow_mut().begin(self.id);
        self.shared.wake(upload::period(settings()));
        if plan.target.method().carries_body() {
            return Ok(Action::Continue);
        }
        // Envoy frames a request before its body ends: an announced body becomes an empty one. No clock of
        // Envoy's runs, and no redirect is followed, before that end: the request waits for it here.
        self.drops_body = true;
        hostcalls::set_field(Section::Request, "content-length", b"0")?;
        Ok(Action::Pause)
    }

    /// Whether the router gets it, at once or when its body has come.
    const fn goes_on(&self) -> bool {
        matches!(self.passed, Passed::Planned { .. } | Passed::Redirected(_))
    }

    fn follow(&mut self, chain: Chain, fields: Vec<Field>) -> Result<Action, Status> {
        chain.send(fields)?;
        self.passed = Passed::Redirected(chain);
        Ok(Action::Continue)
    }

    fn refuse(&mut self, reply: &Reply) -> Result<Action, Status> {
        let content_type = reply.headers.iter().find(|(name, _)| name == "content-type");
        if let Some((_, value)) = content_type.filter(|_| reply.body.is_empty()) {
            self.passed = Passed::Replied(value.clone());
        }
        refuse(reply)
    }

    fn show_health(&self, form: Form) -> Result<Action, Status> {
        let mut probes = self.shared.probes.borrow_mut();
        let now = hostcalls::now();
        if let Some(reply) = probes.known(now, form) {
            return refuse(&reply);
        }
        probes.wait_for(self.id, now, form);
        self.shared.wake(HEALTH_PERIOD);
        Ok(Action::Pause)
    }
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _: usize, whole: bool) -> Action {
        let fields = hostcalls::fields(Section::Request);
        #[cfg(feature = "trap")]
        trap(&fields);
        // A host that refuses a call leaves no way to answer but its own.
        self.decide(fields, whole).unwrap_or(Action::Pause)
    }

    fn on_http_request_body(&mut self, size: usize, whole: bool) -> Action {
        let goes_on = self.goes_on();
        if self.drops_body || !goes_on {
            let _ = hostcalls::drop_request_body(size);
        }
        if whole {
            self.shared.uploads.borrow_mut().end(self.id);
        } else {
            self.shared.uploads.borrow_mut().heard(self.id);
        }
        match goes_on && (whole || !self.drops_body) {
            true => Action::Continue,
            // Who waits for the end of a body, or for verdicts, still does.
            false => Action::Pause,
        }
    }

    fn on_http_request_trailers(&mut self, _: usize) -> Action {
        self.shared.uploads.borrow_mut().end(self.id);
        if self.goes_on() { Action::Continue } else { Action::Pause }
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        self.shared.uploads.borrow_mut().end(self.id);
        answer::judge(&self.passed).unwrap_or(Action::Continue)
    }
}

impl Drop for Stream {
    /// The client is gone, or it has its answer.
    fn drop(&mut self) {
        self.shared.uploads.borrow_mut().end(self.id);
        self.shared.probes.borrow_mut().forget(self.id);
    }
}

/// The last statement of a callback.
fn refuse(reply: &Reply) -> Result<Action, Status> {
    hostcalls::reply(reply)?;
    Ok(Action::Pause)
}

/// What admission needs of the head besides its fields.
struct Head<'a> {
    method: &'a str,
    path: &'a str,
    authority: &'a str,
}

impl<'a> Head<'a> {
    fn read(pseudo: &'a [Field]) -> Option<Self> {
        let text = |name: &str| {
            let found = pseudo.iter().find(|(known, _)| known == name);
            found.map_or(Some(""), |(_, value)| std::str::from_utf8(value).ok())
        };
        Some(Self { method: text(":method")?, path: text(":path")?, authority: text(":authority")? })
    }
}

/// Pseudo fields, and the client's own. What its `connection` names Envoy has removed by then.
fn split(fields: Vec<Field>) -> (Vec<Field>, Headers) {
    let (pseudo, own) = fields.into_iter().partition(|(name, _)| name.starts_with(':'));
    (pseudo, Headers::new(own))
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
