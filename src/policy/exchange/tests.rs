//! The facts of contract 2.6 and 2.7 about the machine, a sentence a test, on a virtual clock.

mod attempts;
mod clocks;
mod hostile_events;
mod log_lines;
mod redirects;
mod replay;

use super::super::headers::Headers;
use super::*;
use crate::policy::admission::{Decision, RequestHead, admit};
use crate::policy::settings::Settings;
use crate::policy::upgrade::Scheme;

const THREE: &str = r#"["https://a.example","https://b.example","https://c.example"]"#;
const WEBHOOK: &str = "POST /webhook/tg";
/// A body of six bytes, announced.
const SIX: (&str, &str) = ("content-length", "6");

/// An exchange, its clock, and what the open request was given.
struct Rig {
    exchange: Exchange<'static>,
    now: Millis,
    given: Vec<u8>,
    /// The last action in words.
    said: String,
    answer: Option<Answer<'static>>,
}

impl Rig {
    /// Three origins `a`, `b`, `c`, from the first; what `vars` names wins over that.
    fn start(vars: &[(&str, &str)], request: &str, headers: &[(&str, &str)]) -> Self {
        Self::start_at(0, vars, request, headers)
    }

    fn start_at(dice: u64, vars: &[(&str, &str)], request: &str, headers: &[(&str, &str)]) -> Self {
        Self::run(plan(vars, request, headers), dice)
    }

    fn run(plan: Plan<'static>, dice: u64) -> Self {
        let (exchange, action) = Exchange::start(plan, Millis::ZERO, dice).unwrap();
        let mut rig =
            Self { exchange, now: Millis::ZERO, given: Vec::new(), said: String::new(), answer: None };
        rig.note(action);
        rig
    }

    /// Lets time pass.
    fn after(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Millis(millis);
        self
    }

    /// Reports an event; says what the machine wants.
    fn on(&mut self, event: Event) -> &str {
        let action = self.exchange.on(event, self.now);
        self.note(action);
        &self.said
    }

    /// The client sends bytes.
    fn chunk(&mut self, bytes: &[u8]) -> &str {
        self.on(Event::Chunk(bytes.to_vec()))
    }

    /// The open request takes what is pending.
    fn take(&mut self) -> &str {
        self.take_at_most(usize::MAX)
    }

    fn take_at_most(&mut self, most: usize) -> &str {
        let pending = self.exchange.pending();
        let count = pending.len().min(most);
        self.given.extend_from_slice(&pending[..count]);
        self.on(Event::Took(count))
    }

    fn note(&mut self, action: Action<'static>) {
        self.said = match action {
            Action::Send => {
                self.given.clear();
                let Request { method, destination, body, .. } = self.exchange.request();
                let (origin, path) = (destination.origin(), destination.path_with_query());
                format!("{method} {origin}{path}{}", if body { " with body" } else { "" })
            }
            Action::Wait(Wait { upload, until }) => format!("{upload:?} until {}", until.0),
            Action::Answer(answer) => {
                let said = format!("{} from {}", answer.status, answer.backend);
                self.answer = Some(answer);
                said
            }
            Action::Exhausted(exhausted, _) => exhausted.to_string(),
            Action::Refuse(reply) => format!("refused {}", reply.status),
        };
    }

    /// The fields that the request to send carries.
    fn field_names(&self) -> Vec<String> {
        let headers = self.exchange.request().headers;
        headers.as_slice().iter().map(|(name, _)| name.clone()).collect()
    }
}

fn settings(vars: &[(&str, &str)]) -> &'static Settings {
    let own = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Box::leak(Box::new(Settings::from_vars(|name| {
        own(name).or_else(|| (name == "BACKEND_ORIGINS_JSON").then(|| THREE.to_owned()))
    })))
}

fn plan(vars: &[(&str, &str)], request: &str, headers: &[(&str, &str)]) -> Plan<'static> {
    let (method, path) = request.split_once(' ').unwrap();
    let fields = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
    let head = RequestHead {
        method,
        path_with_query: Some(path),
        scheme: Some(Scheme::Https),
        authority: Some("lb.example"),
        headers: Headers::new(fields.collect()),
        peer: None,
    };
    match admit(settings(vars), head).counted(|_| panic!("nothing is limited here")) {
        Decision::Forward(plan) => *plan,
        other => panic!("not forwarded: {other:?}"),
    }
}

fn head(status: u16) -> Event {
    Event::Head(ResponseHead { status, headers: Headers::default() })
}

fn redirect(status: u16, location: &str) -> Event {
    Event::Head(ResponseHead { status, headers: Headers::from([("location", location)]) })
}

const fn failed(class: FailureClass) -> Event {
    Event::Failed(class)
}
