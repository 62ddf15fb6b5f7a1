//! The bench's own pieces: what it counts is right, what it refuses is wrong.

use std::time::Duration;

use messageweave_lb_bench::contender::Contender;
use messageweave_lb_bench::machine::{core_distance, cores};
use messageweave_lb_bench::measure::{ceiling, median, requests, round};
use messageweave_lb_bench::origins::Origins;
use messageweave_lb_bench::report::{Report, Speed};
use messageweave_lb_bench::rounds::Turns;
use messageweave_lb_bench::work::{SMALL, Work};
use messageweave_lb_harness::load::{Ask, once};

#[test]
fn an_origin_answers_what_is_asked_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let origins = Origins::start(folder.path()).unwrap();
    for work in [Work::Small, Work::Large, Work::Post, Work::Failover] {
        assert_eq!(once(origins.plain, &work.ask()), Ok(()), "{work:?}");
    }
    let mut changed = Work::Post.ask();
    *changed.request.last_mut().unwrap() ^= 1;
    assert_eq!(once(origins.plain, &changed), Err("HTTP/1.1 400 Bad Request in place of 200".to_owned()));
}

#[test]
fn an_answer_with_another_status_or_content_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let origins = Origins::start(folder.path()).unwrap();
    let other_status = Ask { status: 204, ..Work::Small.ask() };
    assert_eq!(once(origins.plain, &other_status), Err("HTTP/1.1 200 OK in place of 204".to_owned()));
    let mut content = SMALL.to_vec();
    content.reverse();
    let other_content = Ask { body: Some(content), ..Work::Small.ask() };
    assert_eq!(once(origins.plain, &other_content), Err("another content".to_owned()));
    assert!(ceiling(origins.plain, Work::NotFound, Duration::from_millis(10)).is_err());
}

#[test]
fn both_components_do_every_kind_of_work_and_are_told_in_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let origins = Origins::start(folder.path()).unwrap();
    let span = Duration::from_millis(100);
    let mut report = Report::new("a machine".to_owned(), 1, span, 10);
    for contender in [Contender::Component, Contender::Service] {
        assert!(contender.missing().is_empty(), "run `make build` first");
        let running = contender.start(&origins, folder.path()).unwrap();
        requests(&running, Work::Small, 10).unwrap();
        for work in Work::ALL {
            let rounds = [round(&running, work, span).unwrap()];
            report.speeds.push(Speed::of(work, contender, &rounds));
        }
        assert!(running.process.resident() > 1024);
    }
    report.turns = Some(Turns::new(1));
    let table = report.markdown();
    assert!(table.contains("0 taken again, 0 counted all the same"), "{table}");
    for work in Work::ALL {
        assert!(table.contains(&format!("## {}\n", work.name())), "{table}");
    }
    assert!(
        table.contains("| our host, 0.3, GET, 24 bytes: at least 3 of workerd | - | not measured |"),
        "{table}"
    );
}

#[test]
fn the_median_is_the_middle_one() {
    assert!((median(vec![3.0, 1.0, 100.0]) - 3.0).abs() < f64::EPSILON);
    assert!((median(vec![4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < f64::EPSILON);
}

#[test]
fn the_way_from_core_to_core_is_a_matter_of_nanoseconds() {
    let distance = core_distance();
    assert!(distance < Duration::from_millis(1), "{distance:?}");
    assert_eq!(distance.is_zero(), cores() < 2);
}
