//! The attempt's clock and the client's (contract 2.6).

use super::*;

const SECOND: &[(&str, &str)] = &[("LB_REQUEST_TIMEOUT_MS", "1000")];

#[test]
fn an_origin_that_is_still_sent_the_upload_is_not_silent() {
    let mut rig = Rig::start(&[("LB_REQUEST_TIMEOUT_MS", "700")], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.on(head(200));
    let silent_at = |rig: &Rig| rig.exchange.silent_at(Millis(10)).0;
    assert_eq!(silent_at(&rig), 710);
    rig.after(500).chunk(b"abc");
    assert_eq!(silent_at(&rig), 1200);
    rig.after(100).take();
    assert_eq!(silent_at(&rig), 1300);
    rig.after(100).chunk(b"");
    rig.on(Event::Took(0));
    rig.on(Event::Elapsed);
    assert_eq!(silent_at(&rig), 1300, "nothing of the upload moved");
    rig.after(100).on(Event::ClientEnded);
    assert_eq!(silent_at(&rig), 1500);
}

#[test]
fn an_attempt_ends_as_timeout_when_its_clock_runs_out_and_the_next_has_a_new_one() {
    let mut rig = Rig::start(SECOND, "GET /ready", &[]);
    assert_eq!(rig.after(400).on(Event::Opened), "Idle until 1000");
    assert_eq!(rig.after(599).on(Event::Elapsed), "Idle until 1000");
    assert_eq!(rig.after(1).on(Event::Elapsed), "GET https://b.example/ready");
    assert_eq!(rig.on(Event::Opened), "Idle until 2000");
    assert_eq!(
        rig.after(1000).on(Event::Elapsed),
        "all backends failed: backend https://b.example unavailable (timeout)"
    );
}

#[test]
fn a_head_that_is_there_when_the_clock_runs_out_counts() {
    let mut rig = Rig::start(SECOND, "GET /ready", &[]);
    rig.on(Event::Opened);
    assert_eq!(rig.after(1000).on(head(200)), "200 from https://a.example");
}

#[test]
fn the_long_jobs_have_clocks_of_their_own() {
    for (request, until) in [("POST /reconcile", 320_000), ("POST /worker", 300_000)] {
        let mut rig = Rig::start(SECOND, request, &[("content-length", "0")]);
        assert_eq!(rig.on(Event::Opened), format!("Idle until {until}"));
    }
}

#[test]
fn the_attempts_clock_stands_still_while_the_client_is_waited_for() {
    let mut rig = Rig::start(SECOND, WEBHOOK, &[SIX]);
    assert_eq!(rig.after(300).on(Event::Opened), "Read until 1300");
    // 900 ms of the client's, none of the origin's.
    assert_eq!(rig.after(900).chunk(b"abcdef"), "Write until 1900");
    assert_eq!(rig.after(100).take(), "Read until 2300");
    assert_eq!(rig.after(900).on(Event::ClientEnded), "Finish until 2800");
    assert_eq!(rig.on(Event::Finished), "Idle until 2800");
    assert_eq!(rig.after(599).on(Event::Elapsed), "Idle until 2800");
    assert_eq!(rig.after(1).on(Event::Elapsed), "POST https://b.example/webhook/tg with body");
}

#[test]
fn an_origin_that_does_not_take_the_body_times_out() {
    let mut rig = Rig::start(SECOND, WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    assert_eq!(rig.chunk(b"abcdef"), "Write until 1000");
    assert_eq!(rig.after(500).take_at_most(2), "Write until 1000");
    assert_eq!(rig.after(500).on(Event::Elapsed), "POST https://b.example/webhook/tg with body");
}

#[test]
fn a_client_that_sends_nothing_gets_408_and_no_other_origin_is_asked() {
    for headers in [&[SIX][..], &[]] {
        let mut rig = Rig::start(SECOND, WEBHOOK, headers);
        rig.on(Event::Opened);
        assert_eq!(rig.after(999).on(Event::Elapsed), "Read until 1000");
        assert_eq!(rig.after(1).on(Event::Elapsed), "refused 408");
    }
}

#[test]
fn a_client_that_stalls_in_mid_upload_gets_408_and_no_other_origin_is_asked() {
    let mut rig = Rig::start(SECOND, WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.after(900).chunk(b"abc");
    assert_eq!(rig.take(), "Read until 1900");
    assert_eq!(rig.after(1000).on(Event::Elapsed), "refused 408");
}

#[test]
fn the_clients_clock_is_the_request_timeout_on_the_long_jobs_too() {
    let mut rig = Rig::start(SECOND, "POST /reconcile", &[SIX]);
    assert_eq!(rig.on(Event::Opened), "Read until 1000");
    assert_eq!(rig.after(1000).on(Event::Elapsed), "refused 408");
}

#[test]
fn a_steady_trickle_is_served_however_long_it_takes() {
    let mut rig = Rig::start(SECOND, WEBHOOK, &[("content-length", "100")]);
    rig.on(Event::Opened);
    for _ in 0..100 {
        rig.after(999).chunk(b"x");
        assert!(rig.take().starts_with("Read"));
    }
    rig.after(999).on(Event::ClientEnded);
    assert_eq!(rig.on(Event::Finished), "Idle until 101899");
    assert_eq!(rig.on(head(200)), "200 from https://a.example");
    assert_eq!(rig.given, [b'x'; 100]);
}

#[test]
fn a_failover_does_not_give_a_silent_client_more_time() {
    let mut rig = Rig::start(SECOND, WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.after(600).on(failed(FailureClass::Reset));
    assert_eq!(rig.on(Event::Opened), "Read until 1000");
    assert_eq!(rig.after(400).on(Event::Elapsed), "refused 408");
}

#[test]
fn a_clock_that_steps_back_costs_nobody_anything() {
    let mut rig = Rig::start(SECOND, "GET /ready", &[]);
    rig.after(400).on(Event::Opened);
    rig.now = Millis(100);
    assert_eq!(rig.on(Event::Elapsed), "Idle until 1000");
    rig.now = Millis(1000);
    assert_eq!(rig.on(Event::Elapsed), "GET https://b.example/ready");
}
