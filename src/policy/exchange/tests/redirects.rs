//! Redirect hops inside an attempt (contract 2.7).

use super::*;

#[test]
fn a_usable_redirect_is_followed_within_its_attempt() {
    for status in [301, 302, 303, 307, 308] {
        let mut rig = Rig::start(&[], "GET /ready?a=1", &[]);
        assert_eq!(rig.on(redirect(status, "x?b=2#c")), "GET https://a.example/x?b=2");
        assert_eq!(rig.on(redirect(status, "y")), "GET https://a.example/y");
        assert_eq!(rig.on(head(200)), "200 from https://a.example");
    }
}

#[test]
fn a_redirect_that_is_not_usable_is_the_answer() {
    for event in [head(302), redirect(302, ""), redirect(304, "/x"), redirect(300, "/x")] {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        assert!(rig.on(event).ends_with("from https://a.example"));
    }
    for location in ["http://a.example/", "https://u:p@b.example/", "https://127.0.0.1/", "https://[::1]/"] {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        assert_eq!(rig.on(redirect(307, location)), "307 from https://a.example", "{location}");
    }
}

#[test]
fn twenty_hops_are_followed_and_the_next_fails_the_attempt_as_protocol() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    for hop in 1..=20 {
        let location = format!("/{hop}");
        assert_eq!(rig.on(redirect(302, &location)), format!("GET https://a.example/{hop}"));
    }
    assert_eq!(rig.on(redirect(302, "/21")), "GET https://b.example/ready");
    for hop in 1..=20 {
        rig.on(redirect(302, &format!("/{hop}")));
    }
    assert_eq!(
        rig.on(redirect(302, "/21")),
        "all backends failed: backend https://b.example unavailable (protocol)"
    );
}

#[test]
fn the_twentieth_hop_may_answer() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    (0..20).for_each(|_| assert!(rig.on(redirect(302, "/x")).starts_with("GET")));
    assert_eq!(rig.on(head(302)), "302 from https://a.example");
}

#[test]
fn hops_share_the_clock_of_their_attempt() {
    let mut rig = Rig::start(&[("LB_REQUEST_TIMEOUT_MS", "1000")], "GET /ready", &[]);
    rig.on(Event::Opened);
    rig.after(600).on(redirect(302, "/x"));
    assert_eq!(rig.after(100).on(Event::Opened), "Idle until 1000");
    rig.after(200).on(redirect(302, "/y"));
    assert_eq!(rig.on(Event::Opened), "Idle until 1000");
    assert_eq!(rig.after(100).on(Event::Elapsed), "GET https://b.example/ready");
    assert_eq!(rig.on(Event::Opened), "Idle until 2000");
}

#[test]
fn a_failed_hop_moves_the_original_request_on_and_the_text_names_the_origin_that_was_chosen() {
    let mut rig = Rig::start(&[], "GET /ready?a=1", &[("authorization", "Bearer x")]);
    assert_eq!(rig.on(redirect(302, "https://c.example/elsewhere")), "GET https://c.example/elsewhere");
    assert_eq!(rig.on(failed(FailureClass::Refused)), "GET https://b.example/ready?a=1");
    assert_eq!(rig.field_names(), ["authorization"]);
    assert_eq!(rig.on(redirect(302, "https://c.example/elsewhere")), "GET https://c.example/elsewhere");
    assert_eq!(rig.on(head(502)), "all backends failed: backend https://b.example returned HTTP 502");
}

#[test]
fn the_backend_of_an_answer_is_the_origin_that_was_chosen_not_where_the_hops_ended() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    rig.on(redirect(302, "https://other.example/x"));
    assert_eq!(rig.on(head(200)), "200 from https://a.example");
}

#[test]
fn a_hop_to_another_configured_origin_does_not_use_up_its_attempt() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    rig.on(redirect(302, "https://b.example/x"));
    assert_eq!(rig.on(head(500)), "GET https://b.example/ready");
}

#[test]
fn a_307_in_mid_upload_replays_what_was_kept_and_reads_on() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abc");
    rig.take();
    assert_eq!(rig.on(redirect(307, "/v2/tg")), "POST https://a.example/v2/tg with body");
    assert!(rig.on(Event::Opened).starts_with("Write"));
    assert!(rig.take().starts_with("Read"));
    rig.chunk(b"def");
    rig.take();
    assert!(rig.on(Event::ClientEnded).starts_with("Finish"));
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn a_307_of_a_single_attempt_request_is_replayed_too() {
    let mut rig = Rig::start(&[], "POST /worker", &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abcdef");
    rig.take();
    assert_eq!(rig.on(redirect(308, "/worker/")), "POST https://a.example/worker/ with body");
}

#[test]
fn a_307_whose_copy_is_gone_is_the_answer() {
    let mut rig = Rig::start(&[("LB_REPLAY_MAX_BYTES", "5")], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abcdef");
    assert_eq!(rig.on(redirect(307, "/v2/tg")), "307 from https://a.example");
}

#[test]
fn a_303_drops_the_body_and_the_failure_of_its_hop_replays_the_post_with_it() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX, ("content-type", "text/plain")]);
    rig.on(Event::Opened);
    rig.chunk(b"abc");
    rig.take();
    assert_eq!(rig.on(redirect(303, "/done")), "GET https://a.example/done");
    assert_eq!(rig.field_names(), [""; 0]);
    assert!(rig.on(Event::Opened).starts_with("Idle"));
    assert_eq!(rig.on(head(500)), "POST https://b.example/webhook/tg with body");
    assert_eq!(rig.field_names(), ["content-length", "content-type"]);
    rig.on(Event::Opened);
    rig.take();
    rig.chunk(b"def");
    rig.take();
    assert_eq!(rig.given, b"abcdef");
}

#[test]
fn credentials_that_a_hop_dropped_do_not_come_back_on_the_way_home() {
    let mut rig = Rig::start(&[], "GET /ready", &[("cookie", "a=b"), ("x-kept", "1")]);
    rig.on(redirect(302, "https://b.example/x"));
    assert_eq!(rig.field_names(), ["x-kept"]);
    assert_eq!(rig.on(redirect(302, "https://a.example/y")), "GET https://a.example/y");
    assert_eq!(rig.field_names(), ["x-kept"]);
}

#[test]
fn a_body_never_goes_to_a_host_that_is_not_configured() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    assert_eq!(rig.on(redirect(307, "https://other.example/")), "307 from https://a.example");
}

#[test]
fn a_hop_that_the_host_itself_refuses_ends_the_request() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    rig.on(redirect(302, "https://other.example/"));
    assert_eq!(
        rig.on(failed(FailureClass::Prohibited)),
        "all backends failed: backend https://a.example unavailable (prohibited)"
    );
}
