//! A judge who lets everything pass proves nothing: each rule is broken here once.

use super::deed::{Deed, Fate};
use super::request::Asked;
use super::ring::Ring;
use super::verdict::{Got, Judge, Verdict};
use super::weather::{Kind, SITES, Weather};
use crate::case::SeenFraming;
use crate::driver::World;
use crate::evidence::{Content, Outcome, Progress, Received, Recorded};

const SEED: u64 = 7;

fn judge() -> Judge {
    Judge { seed: SEED, phase: 0, ring: Ring::of(World::Proxy) }
}

/// A POST with a body that the first mock of the list echoes, and that mock.
fn echoed() -> (Asked, usize) {
    let fine =
        |site: &usize| SITES[*site].kind == Kind::Mock && Weather::of(SEED, 0, *site).reason().is_none();
    let site = (0..SITES.len()).find(fine).unwrap();
    let is_echo = |asked: &Asked| {
        let fate = Deed::of(SEED, 0, asked, site, false).fate;
        asked.size() > 100 && asked.budget > 1 && matches!(fate, Fate::Answer(200, _))
    };
    ((0..).map(|id| Asked::of(SEED, id)).find(is_echo).unwrap(), site)
}

fn content(asked: &Asked, most: u64) -> Content {
    Content::of(asked.request.body.as_ref().unwrap(), most)
}

fn seen(asked: &Asked, site: usize) -> Recorded {
    Recorded {
        origin: SITES[site].url.to_owned(),
        method: asked.request.method.clone(),
        target: asked.request.target.clone().into_bytes(),
        headers: Vec::new(),
        framing: SeenFraming::ContentLength,
        body: content(asked, u64::MAX),
        progress: Progress::Complete,
        abandoned: false,
    }
}

fn answer(asked: &Asked, site: usize) -> Received {
    let line = |name: &str, value: String| (name.to_owned(), value.into_bytes());
    Received {
        status: 200,
        headers: vec![
            line("x-chaos", format!("{}.{site}", asked.id)),
            line("x-lb-backend", SITES[site].url.to_owned()),
        ],
        body: content(asked, u64::MAX),
        ..Received::default()
    }
}

fn verdict(change: impl Fn(&Asked, usize, &mut Received, &mut Vec<Recorded>)) -> Verdict {
    let (asked, site) = echoed();
    let (mut answer, mut records) = (answer(&asked, site), vec![seen(&asked, site)]);
    change(&asked, site, &mut answer, &mut records);
    let records: Vec<&Recorded> = records.iter().collect();
    judge().judge(&asked, &Outcome::Answer(answer), &records)
}

#[test]
fn an_exact_echo_is_one() {
    let verdict = verdict(|_, _, _, _| {});
    assert_eq!((verdict.got, verdict.faults), (Some(Got::Echo), Vec::new()));
    assert!(verdict.unplanned.is_empty());
}

#[test]
fn an_answer_that_is_not_exact_is_a_fault() {
    type Change = fn(&Asked, usize, &mut Received, &mut Vec<Recorded>);
    let changes: [(&str, Change); 12] = [
        ("empty", |_, _, answer, _| answer.body = Content::default()),
        ("cut and called whole", |asked, _, answer, _| answer.body = content(asked, 50)),
        ("broken without need", |asked, _, answer, _| {
            (answer.body, answer.broken) = (content(asked, 50), Some("closed".to_owned()));
        }),
        ("mixed", |_, _, answer, _| answer.body.push(b"x")),
        ("of another request", |_, _, answer, _| answer.headers[0].1 = b"999999.0".to_vec()),
        ("of another origin", |_, _, answer, _| answer.headers[1].1 = b"https://z.example".to_vec()),
        ("of another status", |_, _, answer, _| answer.status = 201),
        ("an empty upload", |_, _, _, records| records[0].body = Content::default()),
        ("a cut upload called whole", |asked, _, _, records| records[0].body = content(asked, 50)),
        ("a mixed upload", |_, _, _, records| records[0].body.push(b"x")),
        ("an origin twice", |asked, site, _, records| records.push(seen(asked, site))),
        ("another target", |_, _, _, records| records[0].target.push(b'x')),
    ];
    for (name, change) in changes {
        assert!(!verdict(change).faults.is_empty(), "{name} passed");
    }
}

#[test]
fn more_than_the_budget_is_a_fault() {
    let many = verdict(|asked, site, _, records| {
        let others = (0..SITES.len()).filter(|other| *other != site);
        let more: Vec<_> = others.take(3).map(|other| seen(asked, other)).collect();
        records.splice(0..0, more);
    });
    assert!(many.faults.iter().any(|fault| fault.contains("4 origins")), "{:?}", many.faults);
}

#[test]
fn a_503_that_the_plan_does_not_explain_is_a_fault_or_is_counted() {
    let exhausted = |text: String| {
        verdict(move |_, _, answer, _| {
            let mut body = Content::default();
            body.push(text.as_bytes());
            *answer = Received { status: 503, body, ..Received::default() };
        })
    };
    let url = SITES[echoed().1].url;
    for text in [
        "no instance is free",
        "all backends failed",
        "all backends failed: backend https://z.example unavailable (reset)",
    ] {
        assert!(!exhausted(text.to_owned()).faults.is_empty(), "{text} passed");
    }
    let wrong = exhausted(format!("all backends failed: backend {url} returned HTTP 500"));
    assert!(!wrong.faults.is_empty(), "a 503 for an origin that answered");
    let late = exhausted(format!("all backends failed: backend {url} unavailable (timeout)"));
    assert!(late.faults.is_empty() && !late.unplanned.is_empty(), "{late:?}");
}

#[test]
fn no_answer_is_a_fault() {
    let (asked, _) = echoed();
    for outcome in [Outcome::Hung, Outcome::Refused("closed".to_owned()), Outcome::Gone] {
        assert!(!judge().judge(&asked, &outcome, &[]).faults.is_empty(), "{outcome:?}");
    }
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let draw = |seed| {
        let asked = Asked::of(seed, 5);
        let turns = (0..SITES.len()).map(|site| format!("{:?}", Deed::of(seed, 1, &asked, site, false).turn));
        (format!("{:?}", asked.request), turns.collect::<Vec<_>>())
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn every_kind_of_request_and_fault_is_drawn() {
    let (mut sizes, mut words) = (Vec::new(), String::new());
    for id in 0..3000 {
        let asked = Asked::of(SEED, id);
        sizes.push(asked.size());
        for site in 0..SITES.len() {
            let deed = Deed::of(SEED, id / 100, &asked, site, false);
            words.push_str(&format!("{:?} {:?} {:?} ", deed.turn.fault, deed.turn.framing, deed.turn.close));
            words.push_str(match deed.fate {
                Fate::Redirect => "redirect ",
                Fate::Cut(..) => "cut ",
                _ => "",
            });
            words.push_str(&format!("{:?} ", Weather::of(SEED, id / 100, site)));
        }
    }
    for word in [
        "Reset",
        "Close",
        "Silence",
        "HalfHead",
        "HalfHeadReset",
        "HalfHeadSilence",
        "Garbage",
        "Goaway",
        "RefusedStream",
        "RstStream",
        "Chunked",
        "Announced",
        "Silent",
        "redirect",
        "cut",
        "down: true",
        "WrongName",
        "SelfSigned",
        "Expired",
        "PlainHttp",
    ] {
        assert!(words.contains(word), "{word} never comes");
    }
    let posts = (0..3000).filter(|id| Asked::of(SEED, *id).request.method == "POST").count();
    assert!((1350..1650).contains(&posts), "{posts} of 3000 are POSTs");
    for edge in [0, 1, 4096, 4097, super::REPLAY, super::REPLAY + 1] {
        assert!(sizes.contains(&edge), "no body of {edge} bytes");
    }
}
