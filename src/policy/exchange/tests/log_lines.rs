//! One line per failed attempt and per exhausted request (contract 2.9).

use super::*;
use log::{LevelFilter, Log, Metadata, Record};
use std::cell::RefCell;

thread_local! {
    /// Each test has a thread of its own, and so its own lines.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Lines;

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LINES.with_borrow_mut(|lines| lines.push(format!("{} {}", record.level(), record.args())));
    }

    fn flush(&self) {}
}

fn lines_of(run: impl FnOnce()) -> Vec<String> {
    // The second test to come finds the logger set.
    let _ = log::set_logger(&Lines);
    log::set_max_level(LevelFilter::Trace);
    LINES.take();
    run();
    LINES.take()
}

#[test]
fn each_failed_attempt_has_a_line_and_so_has_the_exhausted_request() {
    let lines = lines_of(|| {
        let mut rig =
            Rig::start(&[], "POST /webhook/tg?secret=1", &[("content-length", "0"), ("cookie", "secret")]);
        rig.on(failed(FailureClass::Tls));
        rig.on(head(500));
    });
    assert_eq!(
        lines,
        [
            "WARN attempt failed: POST /webhook/tg https://a.example tls",
            "WARN attempt failed: POST /webhook/tg https://b.example HTTP 500",
            "ERROR all backends failed: POST /webhook/tg https://b.example HTTP 500",
        ]
    );
}

#[test]
fn a_failed_hop_is_logged_with_the_literal_and_the_origin_that_was_chosen() {
    let lines = lines_of(|| {
        let mut rig = Rig::start(&[("LB_MAX_ATTEMPTS", "1")], "GET /ready", &[]);
        rig.on(redirect(302, "https://other.example/private?token=1"));
        rig.on(failed(FailureClass::Dns));
    });
    assert_eq!(
        lines,
        [
            "WARN attempt failed: GET /ready https://a.example dns",
            "ERROR all backends failed: GET /ready https://a.example dns",
        ]
    );
}

#[test]
fn an_answer_and_a_slow_client_have_no_line() {
    let lines = lines_of(|| {
        Rig::start(&[], "GET /ready", &[]).on(head(404));
        assert_eq!(Rig::start(&[], WEBHOOK, &[]).after(10_000).on(Event::Elapsed), "refused 408");
    });
    assert_eq!(lines, [""; 0]);
}

#[test]
fn a_probe_makes_one_attempt_and_never_logs_an_exhausted_request() {
    let lines = lines_of(|| {
        let settings = settings(&[]);
        let plan = Plan::probe(settings, &settings.origins()[2]);
        let mut rig = Rig::run(plan, 1);
        assert_eq!(rig.said, "GET https://c.example/healthz");
        assert_eq!(rig.field_names(), [""; 0]);
        assert_eq!(rig.on(Event::Opened), "Idle until 10000");
        rig.after(10_000).on(Event::Elapsed);
    });
    assert_eq!(lines, ["WARN attempt failed: GET /healthz https://c.example timeout"]);
}
