//! Drives admission, an exchange, and the health view from one exported function, so that the linker
//! keeps the whole policy. `tests/purity.rs` builds it and reads its imports.

use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::exchange::{Action, Event, Exchange, ResponseHead};
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::health::accept::Form;
use messageweave_lb::policy::health::{HealthCache, Step, Verdict};
use messageweave_lb::policy::limit::limiter::Limiter;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::time::Millis;
use messageweave_lb::policy::upgrade::Scheme;
use std::hint::black_box;

/// One request from its head to its answer; the status, so that nothing is optimised away.
#[allow(unsafe_code, reason = "an export of a WebAssembly module")]
#[unsafe(no_mangle)]
pub extern "C" fn drive(now: u64, dice: u64) -> u32 {
    let settings = Settings::from_vars(|name| black_box(Some(name.to_owned())));
    let head = RequestHead {
        method: black_box("POST"),
        path_with_query: black_box(Some("/webhook/tg?a=1")),
        scheme: black_box(Some(Scheme::Https)),
        authority: black_box(Some("lb.example")),
        headers: Headers::new(black_box(Vec::new())),
        peer: black_box(None),
    };
    let mut limiter = Limiter::new([dice, now], settings.max_entries());
    match admit(&settings, head).counted(|gate| limiter.count(gate, Millis(now))) {
        Decision::Reply(reply) => reply.status.into(),
        Decision::Health(form) => health(&settings, form, Millis(now)),
        Decision::Forward(plan) => match Exchange::start(*plan, Millis(now), dice) {
            Some((exchange, action)) => run(exchange, &action, Millis(now)),
            None => 0,
        },
    }
}

fn health(settings: &Settings, form: Form, now: Millis) -> u32 {
    let mut cache = HealthCache::new();
    if let Step::Probe(places) = cache.step(settings, now, now) {
        for index in places {
            cache.record(index, Verdict::DOWN, now);
        }
    }
    u32::try_from(cache.view(settings, form).body.len()).unwrap_or(u32::MAX)
}

fn run(mut exchange: Exchange<'_>, first: &Action<'_>, now: Millis) -> u32 {
    let mut status = status_of(first);
    for turn in 0..black_box(9) {
        let action = exchange.on(event(turn), now + Millis(turn));
        status = status_of(&action);
    }
    status
}

fn event(turn: u64) -> Event {
    match black_box(turn) {
        0 => Event::Opened,
        1 => Event::Chunk(black_box(vec![1, 2, 3])),
        2 => Event::Took(black_box(3)),
        3 => Event::ClientEnded,
        4 => Event::Finished,
        5 => Event::Failed(black_box(FailureClass::Reset)),
        6 => Event::Head(ResponseHead {
            status: black_box(307),
            headers: Headers::from([("location", black_box("https://b.example/x?y"))]),
        }),
        7 => Event::Elapsed,
        _ => Event::Head(ResponseHead { status: black_box(200), headers: Headers::default() }),
    }
}

fn status_of(action: &Action<'_>) -> u32 {
    match action {
        Action::Send => 1,
        Action::Wait(_) => 2,
        Action::Answer(answer) => answer.status.into(),
        Action::Exhausted(_, reply) | Action::Refuse(reply) => reply.status.into(),
    }
}
