//! The client's body: streamed, kept, replayed (contract 2.6).

use super::*;

const B_WITH_BODY: &str = "POST https://b.example/webhook/tg with body";

/// A webhook of which `abc` was read and given to the first origin.
fn half_uploaded(vars: &[(&str, &str)]) -> Rig {
    let mut rig = Rig::start(vars, WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abc");
    rig.take();
    assert_eq!(rig.given, b"abc");
    rig
}

#[test]
fn the_body_streams_while_it_comes() {
    let mut rig = half_uploaded(&[]);
    rig.chunk(b"de");
    rig.take_at_most(1);
    assert!(rig.said.starts_with("Write"));
    assert!(rig.take().starts_with("Read"));
    rig.chunk(b"f");
    rig.take();
    assert!(rig.on(Event::ClientEnded).starts_with("Finish"));
    assert!(rig.on(Event::Finished).starts_with("Idle"));
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn a_failover_in_mid_upload_replays_what_was_kept_and_then_reads_on() {
    let mut rig = half_uploaded(&[]);
    assert_eq!(rig.on(failed(FailureClass::Reset)), B_WITH_BODY);
    assert!(rig.on(Event::Opened).starts_with("Write"));
    assert!(rig.take().starts_with("Read"));
    rig.chunk(b"def");
    rig.take();
    assert!(rig.on(Event::ClientEnded).starts_with("Finish"));
    rig.on(Event::Finished);
    assert_eq!(rig.on(head(200)), "200 from https://b.example");
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn a_failover_after_the_upload_replays_the_whole_body_without_the_client() {
    let mut rig = half_uploaded(&[]);
    rig.chunk(b"def");
    rig.take();
    rig.on(Event::ClientEnded);
    rig.on(Event::Finished);
    assert_eq!(rig.on(head(504)), B_WITH_BODY);
    rig.on(Event::Opened);
    assert!(rig.take_at_most(4).starts_with("Write"));
    assert!(rig.take().starts_with("Finish"));
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn an_origin_that_stops_reading_and_then_fails_costs_the_next_one_nothing() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abcdef");
    rig.take_at_most(2);
    assert!(rig.on(Event::UploadClosed).starts_with("Idle"));
    assert_eq!(rig.on(failed(FailureClass::Reset)), B_WITH_BODY);
    rig.on(Event::Opened);
    rig.take();
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn a_body_of_exactly_the_cap_moves_on() {
    let mut rig = half_uploaded(&[("LB_REPLAY_MAX_BYTES", "6")]);
    rig.chunk(b"def");
    assert_eq!(rig.on(failed(FailureClass::Reset)), B_WITH_BODY);
}

#[test]
fn a_body_over_the_cap_stays_on_its_attempt_and_streams_on_whole() {
    let mut rig = half_uploaded(&[("LB_REPLAY_MAX_BYTES", "5")]);
    rig.chunk(b"def");
    rig.take();
    assert!(rig.on(Event::ClientEnded).starts_with("Finish"));
    assert_eq!(rig.given, b"abcdef");
    assert_eq!(
        rig.on(failed(FailureClass::Reset)),
        "all backends failed: backend https://a.example unavailable (reset)"
    );
}

#[test]
fn a_request_under_the_cap_so_far_moves_on_and_may_exceed_it_at_the_next_origin() {
    let mut rig = half_uploaded(&[("LB_REPLAY_MAX_BYTES", "5"), ("LB_MAX_ATTEMPTS", "3")]);
    assert_eq!(rig.on(failed(FailureClass::Refused)), B_WITH_BODY);
    rig.on(Event::Opened);
    rig.take();
    rig.chunk(b"def");
    rig.take();
    assert_eq!(rig.given, b"abcdef");
    assert_eq!(rig.on(head(502)), "all backends failed: backend https://b.example returned HTTP 502");
}

#[test]
fn an_early_answer_is_passed_on_while_the_upload_goes_on() {
    let mut rig = half_uploaded(&[]);
    assert_eq!(rig.on(head(413)), "413 from https://a.example");
    assert_eq!(rig.exchange.waiting().upload, UploadStep::Read);
    assert!(rig.chunk(b"def").starts_with("Write"));
    assert!(rig.take().starts_with("Read"));
    assert!(rig.on(Event::ClientEnded).starts_with("Finish"));
    assert!(rig.on(Event::Finished).starts_with("Idle"));
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn what_was_read_before_the_answer_and_not_yet_given_follows_it() {
    let mut rig = half_uploaded(&[]);
    rig.chunk(b"def");
    rig.on(head(200));
    assert_eq!(rig.exchange.waiting().upload, UploadStep::Write);
    rig.take();
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn after_the_answer_no_copy_is_kept() {
    let mut rig = half_uploaded(&[]);
    assert!(rig.exchange.upload.is_replayable());
    rig.on(head(200));
    assert!(!rig.exchange.upload.is_replayable());
}

#[test]
fn after_the_answer_a_client_that_breaks_off_or_an_origin_that_stops_reading_ends_the_upload() {
    for event in [Event::ClientFailed, Event::UploadClosed] {
        let mut rig = half_uploaded(&[]);
        rig.on(head(200));
        assert!(rig.on(event).starts_with("Idle"));
    }
}

#[test]
fn a_body_without_a_length_waits_for_its_first_bytes() {
    let mut rig = Rig::start(&[], WEBHOOK, &[]);
    assert_eq!(rig.said, "Read until 10000");
    assert_eq!(rig.after(5).chunk(b"abc"), "POST https://a.example/webhook/tg with body");
    rig.on(Event::Opened);
    rig.take();
    assert_eq!(rig.given, b"abc");
}

#[test]
fn a_body_without_a_length_that_ends_at_once_is_none() {
    let mut rig = Rig::start(&[], WEBHOOK, &[]);
    assert_eq!(rig.on(Event::ClientEnded), "POST https://a.example/webhook/tg");
    assert!(rig.on(Event::Opened).starts_with("Idle"));
    assert_eq!(rig.on(failed(FailureClass::Reset)), "POST https://b.example/webhook/tg");
}

#[test]
fn a_get_and_an_empty_post_carry_no_body() {
    for (request, headers) in
        [("GET /ready", &[SIX][..]), ("GET /ready", &[]), (WEBHOOK, &[("content-length", "0")])]
    {
        let mut rig = Rig::start(&[], request, headers);
        assert!(!rig.said.ends_with("with body"));
        assert!(rig.on(Event::Opened).starts_with("Idle"));
    }
    let rig = Rig::start(&[], "GET /ready", &[SIX]);
    assert_eq!(rig.field_names(), [""; 0]);
}
