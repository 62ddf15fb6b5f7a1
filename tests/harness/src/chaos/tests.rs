//! A judge who lets everything pass proves nothing: each rule is broken here once.

use super::deed::{Deed, Fate};
use super::report::Report;
use super::request::Asked;
use super::ring::Ring;
use super::verdict::{Got, Judge, Unplanned, Verdict};
use super::weather::{Kind, SITES, Weather};
use super::{BUSY, Plan, longest};
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
    asked.request.body.as_ref().map_or_else(Content::default, |body| Content::of(body, most))
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
    Received { body: content(asked, u64::MAX), ..answer_without_body(asked, site) }
}

fn answer_without_body(asked: &Asked, site: usize) -> Received {
    let line = |name: &str, value: String| (name.to_owned(), value.into_bytes());
    Received {
        status: 200,
        headers: vec![
            line("x-chaos", format!("{}.{site}", asked.id)),
            line("x-lb-backend", SITES[site].url.to_owned()),
        ],
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

/// A request that an origin answers in that way when it does not fail, and the judge's verdict on it.
fn fated(
    is_meant: impl Fn(&Fate) -> bool,
    change: impl Fn(&Asked, usize) -> (Received, Vec<Recorded>),
) -> Verdict {
    let site = echoed().1;
    let fate = |asked: &Asked| Deed::of(SEED, 0, asked, site, false).fate;
    let asked = (0..).map(|id| Asked::of(SEED, id)).find(|asked| asked.budget > 1 && is_meant(&fate(asked)));
    let asked = asked.unwrap();
    let (answer, records) = change(&asked, site);
    let records: Vec<&Recorded> = records.iter().collect();
    judge().judge(&asked, &Outcome::Answer(answer), &records)
}

#[test]
fn a_hop_that_is_sent_twice_is_a_fault() {
    let hops = |count: usize| {
        fated(
            |fate| matches!(fate, Fate::Redirect),
            |asked, site| {
                let hop = Deed::of(SEED, 0, asked, site, true);
                let Fate::Answer(status, body) = hop.fate else { panic!("a hop is answered") };
                let mut hopped = seen(asked, site);
                hopped.target.extend_from_slice(b"&hop=1");
                let records = [vec![seen(asked, site)], vec![hopped; count]].concat();
                let body = Content::of(&body, body.len());
                (Received { status, body, ..answer_without_body(asked, site) }, records)
            },
        )
    };
    assert_eq!(hops(1).faults, Vec::<String>::new());
    assert_eq!(hops(2).faults.len(), 1, "{:?}", hops(2).faults);
}

#[test]
fn what_comes_behind_the_clock_is_counted_when_it_is_exact_and_a_fault_else() {
    let late = |text: &str| {
        fated(
            |fate| matches!(fate, Fate::Fails(words) if *words == ["timeout"]),
            |asked, site| {
                let mut body = Content::default();
                body.push(format!("{text} {}", asked.id).as_bytes());
                (Received { body, ..answer_without_body(asked, site) }, vec![seen(asked, site)])
            },
        )
    };
    assert_eq!((late("late").faults, late("late").unplanned), (Vec::new(), vec![Unplanned::Late]));
    assert!(!late("other").faults.is_empty());
}

fn report(process: u32) -> Report {
    Report::new(Plan { world: World::Proxy, seed: SEED, requests: 1000, concurrency: 1 }, process)
}

#[test]
fn what_a_run_shows_as_a_whole_is_a_fault_too() {
    let verdict = |got, unplanned| Verdict { got, unplanned, faults: Vec::new() };
    let (asked, site) = echoed();
    let add = |report: &mut Report, verdict, whole_ms| {
        let answer = Received { whole_ms, ..answer(&asked, site) };
        report.add(0, &asked, &Outcome::Answer(answer), 1, verdict);
    };
    type Change<'a> = &'a dyn Fn(&mut Report);
    let changes: [(&str, Change<'_>); 6] = [
        ("took ", &|report| {
            let bound = longest(World::Proxy, asked.budget) + BUSY;
            add(report, verdict(Some(Got::Echo), Vec::new()), u64::try_from(bound.as_millis()).unwrap() + 1);
        }),
        ("not planned", &|report| {
            (0..11).for_each(|_| add(report, verdict(Some(Got::Echo), vec![Unplanned::Other]), 1));
        }),
        ("the log tells of 0", &|report| {
            add(report, verdict(Some(Got::Exhausted), Vec::new()), 1);
            report.logged(&[]);
        }),
        ("panicked", &|report| report.logged(&["thread panicked".to_owned()])),
        ("memory grew", &|report| report.resident = vec![50_000, 90_000]),
        ("is gone", &|report| {
            *report = self::report(0);
            report.sample();
        }),
    ];
    let own = std::process::id();
    assert!(report(own).finish().is_ok());
    for (words, change) in changes {
        let mut report = report(own);
        change(&mut report);
        let faults = report.finish().err().unwrap_or_default();
        assert!(
            faults.contains(words) && faults.contains("SEED=7 REQUESTS=1000 make chaos"),
            "{words}: {faults}"
        );
    }
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
