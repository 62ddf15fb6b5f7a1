//! Events that cannot happen: each has an answer, and none of them a consequence.

use super::*;

fn every_event() -> Vec<Event> {
    vec![
        Event::Opened,
        head(200),
        failed(FailureClass::Internal),
        Event::Took(usize::MAX),
        Event::UploadClosed,
        Event::Finished,
        Event::Chunk(b"stray".to_vec()),
        Event::Chunk(Vec::new()),
        Event::ClientEnded,
        Event::ClientFailed,
        Event::Elapsed,
    ]
}

#[test]
fn after_the_end_no_event_has_a_consequence() {
    for end in [failed(FailureClass::Internal), Event::ClientFailed] {
        let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
        rig.on(end);
        for event in every_event() {
            assert!(rig.after(100_000).on(event).starts_with("Idle"));
        }
    }
}

#[test]
fn after_the_answer_no_event_gives_another() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(head(200));
    for event in every_event() {
        let debug = format!("{event:?}");
        assert!(rig.after(100_000).on(event).contains(" until "), "{debug}: {}", rig.said);
    }
}

#[test]
fn before_the_first_bytes_nothing_of_an_origins_is_believed() {
    let mut rig = Rig::start(&[], WEBHOOK, &[]);
    for event in [Event::Opened, head(200), failed(FailureClass::Reset), Event::Took(9), Event::UploadClosed]
    {
        assert_eq!(rig.on(event), "Read until 10000");
    }
}

#[test]
fn an_empty_chunk_is_no_sign_of_life() {
    for headers in [&[SIX][..], &[]] {
        let mut rig = Rig::start(&[], WEBHOOK, headers);
        rig.on(Event::Opened);
        assert_eq!(rig.after(9_999).chunk(b""), "Read until 10000");
        assert_eq!(rig.after(1).chunk(b""), "refused 408");
    }
}

#[test]
fn bytes_that_a_get_cannot_have_are_never_sent() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    rig.on(Event::Opened);
    assert!(rig.chunk(b"stray").starts_with("Idle"));
    assert_eq!(rig.on(failed(FailureClass::Reset)), "GET https://b.example/ready");
}

#[test]
fn bytes_after_the_end_of_the_body_are_no_part_of_it() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abcdef");
    rig.take();
    rig.on(Event::ClientEnded);
    assert!(rig.chunk(b"stray").starts_with("Finish"));
    rig.on(failed(FailureClass::Reset));
    rig.on(Event::Opened);
    assert!(rig.take().starts_with("Finish"));
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn more_bytes_taken_than_there_are_count_as_all() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abc");
    assert!(rig.on(Event::Took(usize::MAX)).starts_with("Read"));
    rig.chunk(b"def");
    assert_eq!(rig.exchange.pending(), b"def");
}

#[test]
fn a_plan_without_origins_has_no_exchange() {
    let mut plan = plan(&[], "GET /ready", &[]);
    plan.origins = &[];
    assert!(Exchange::start(plan, Millis::ZERO, 7).is_none());
}
