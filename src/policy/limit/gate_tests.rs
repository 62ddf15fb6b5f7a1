//! Where the limit stands in the order of decisions, and what its answers carry.

use super::super::admission::{Decision, RequestHead, admit};
use super::super::exchange::{Action, Event, Exchange, ResponseHead};
use super::super::failure::FailureClass;
use super::super::headers::{Field, Headers};
use super::super::settings::Settings;
use super::super::time::Millis;
use super::super::upgrade::Scheme;
use super::limiter::Limiter;

const POLICY: &str = r#"{"version": 1,
    "routes": [
        {"path": "/ready", "methods": ["GET", "POST"], "limit": "few"},
        {"path": "/open", "methods": ["GET"]},
        {"path": "/also", "methods": ["GET"], "limit": "few"},
        {"path": "/other", "methods": ["GET"], "limit": "other"}
    ],
    "limits": {
        "few": {"key": "user", "limit": 2, "window_s": 60, "code": "SLOW_DOWN"},
        "other": {"key": "ip", "limit": 5, "window_s": 60, "client_address": {"header": "cf-connecting-ip"}}
    }}"#;

struct Balancer {
    settings: &'static Settings,
    limiter: Limiter,
    now: Millis,
}

impl Balancer {
    fn new(origins: &'static str, environment: Option<&'static str>) -> Self {
        let settings = Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(origins.to_owned()),
            "LB_POLICY_JSON" => Some(POLICY.to_owned()),
            "LB_ENV" => environment.map(str::to_owned),
            _ => None,
        });
        assert!(settings.policy.is_some(), "{:?}", settings.errors());
        let limiter = Limiter::new([1, 2], settings.max_entries());
        Self { settings: Box::leak(Box::new(settings)), limiter, now: Millis(1_699_920_000_000) }
    }

    fn decide(
        &mut self,
        method: &str,
        path: &str,
        scheme: Scheme,
        fields: &[(&str, &str)],
    ) -> Decision<'static> {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let head = RequestHead {
            method,
            path_with_query: Some(path),
            scheme: Some(scheme),
            authority: Some("lb.example"),
            headers: Headers::new(fields.collect()),
            peer: Some(b"192.0.2.1:50000"),
        };
        admit(self.settings, head).counted(|gate| self.limiter.count(gate, self.now))
    }

    /// The status, 0 where it is forwarded, and what is said of the limit.
    fn get(&mut self, path: &str) -> (u16, String) {
        match self.decide("GET", path, Scheme::Https, &[]) {
            Decision::Reply(reply) => (reply.status, usage(&reply.headers)),
            Decision::Health(_) => (1, String::new()),
            Decision::Forward(plan) => (0, plan.usage.map_or(String::new(), |own| usage(&own.fields()))),
        }
    }
}

fn usage(fields: &[Field]) -> String {
    let value = |name: &str| {
        let mut values = fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        let value = values.next().map(|value| String::from_utf8(value.clone()).unwrap());
        assert_eq!(values.next(), None, "{name} twice");
        value
    };
    let remaining = value("x-ratelimit-remaining");
    value("x-ratelimit-limit").map_or(String::new(), |limit| format!("{}/{limit}", remaining.unwrap()))
}

const ORIGIN: &str = r#"["https://a.example"]"#;

fn told(status: u16, usage: &str) -> (u16, String) {
    (status, usage.to_owned())
}

#[test]
fn above_the_limit_it_is_429_until_the_window_ends() {
    let mut balancer = Balancer::new(ORIGIN, None);
    let answers: Vec<_> = (0..4).map(|_| balancer.get("/ready")).collect();
    assert_eq!(answers, [told(0, "1/2"), told(0, "0/2"), told(429, "0/2"), told(429, "0/2")]);
    balancer.now = balancer.now + Millis(60_000);
    assert_eq!(balancer.get("/ready"), told(0, "1/2"));
}

#[test]
fn routes_that_name_the_same_limit_share_it_and_others_do_not() {
    let mut balancer = Balancer::new(ORIGIN, None);
    let answers = ["/ready", "/also", "/ready", "/other"].map(|path| balancer.get(path));
    assert_eq!(answers, [told(0, "1/2"), told(0, "0/2"), told(429, "0/2"), told(0, "4/5")]);
}

#[test]
fn what_is_refused_before_the_limit_is_not_counted_and_says_nothing_of_it() {
    let mut balancer = Balancer::new(ORIGIN, None);
    for _ in 0..3 {
        assert_eq!(balancer.get("/nope"), told(404, ""));
        assert_eq!(balancer.get("/healthz-worker"), told(1, ""));
        assert_eq!(balancer.get("/open"), told(0, ""));
        for (method, scheme, status) in
            [("PUT", Scheme::Https, 405), ("GET", Scheme::Http, 308), ("PUT", Scheme::Http, 308)]
        {
            let Decision::Reply(reply) = balancer.decide(method, "/ready", scheme, &[]) else { panic!() };
            assert_eq!((reply.status, usage(&reply.headers)), told(status, ""));
        }
    }
    assert_eq!(balancer.get("/ready"), told(0, "1/2"));
}

#[test]
fn a_bad_list_of_origins_comes_behind_the_limit_and_is_counted() {
    let mut balancer = Balancer::new("[]", None);
    let answers: Vec<_> = (0..3).map(|_| balancer.get("/ready")).collect();
    assert_eq!(answers, [told(503, "1/2"), told(503, "0/2"), told(429, "0/2")]);
    assert_eq!(balancer.get("/open"), told(503, ""));
}

#[test]
fn in_development_nothing_is_limited_and_elsewhere_it_is_whatever_the_place_is_called() {
    let mut balancer = Balancer::new(ORIGIN, Some("dev"));
    assert!((0..9).all(|_| balancer.get("/ready") == told(0, "")));
    for name in ["", "prod", "DEV", "dev ", "development"] {
        let mut balancer = Balancer::new(ORIGIN, Some(name));
        assert_eq!(balancer.get("/ready"), told(0, "1/2"), "{name:?}");
    }
}

#[test]
fn users_are_told_apart_and_without_one_the_address_counts() {
    let mut balancer = Balancer::new(ORIGIN, None);
    let mut status = |user: &[(&str, &str)]| {
        matches!(balancer.decide("GET", "/ready", Scheme::Https, user), Decision::Forward(_))
    };
    let (one, other) = ([("authorization", "Bearer a")], [("authorization", "Bearer b")]);
    assert_eq!([status(&one), status(&one), status(&one)], [true, true, false]);
    assert_eq!([status(&other), status(&[]), status(&[]), status(&[])], [true, true, true, false]);
}

fn forwarded(balancer: &mut Balancer, fields: &[(&str, &str)]) -> (Exchange<'static>, Action<'static>) {
    let Decision::Forward(plan) = balancer.decide("POST", "/ready", Scheme::Https, fields) else { panic!() };
    Exchange::start(*plan, Millis(0), 0).unwrap()
}

#[test]
fn an_answer_an_exhausted_request_and_a_refused_one_say_what_is_left() {
    let mut balancer = Balancer::new(ORIGIN, None);
    let empty = [("content-length", "0")];
    let (mut exchange, _) = forwarded(&mut balancer, &empty);
    let headers = Headers::from([("x-ratelimit-remaining", "99"), ("x-ratelimit-limit", "99")]);
    let head = ResponseHead { status: 200, headers };
    let Action::Answer(answer) = exchange.on(Event::Head(head), Millis(1)) else { panic!() };
    assert_eq!(usage(answer.headers.as_slice()), "1/2");

    let (mut exchange, _) = forwarded(&mut balancer, &empty);
    let action = exchange.on(Event::Failed(FailureClass::Refused), Millis(1));
    let Action::Exhausted(_, reply) = action else { panic!() };
    assert_eq!((reply.status, usage(&reply.headers)), told(503, "0/2"));

    balancer.now = balancer.now + Millis(60_000);
    let (mut exchange, _) = forwarded(&mut balancer, &[]);
    let Action::Refuse(reply) = exchange.on(Event::Elapsed, Millis(10_000)) else { panic!() };
    assert_eq!((reply.status, usage(&reply.headers)), told(408, "1/2"));
}
