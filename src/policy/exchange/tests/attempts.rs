//! Which attempts there are, what ends one, and what the client is told (contract 2.6).

use super::*;

const FOUR_ATTEMPTS: &[(&str, &str)] = &[("LB_MAX_ATTEMPTS", "4")];

#[test]
fn attempts_go_through_the_list_in_order_wrapping_and_never_twice() {
    let mut rig = Rig::start_at(1, FOUR_ATTEMPTS, "GET /ready?a=1", &[]);
    assert_eq!(rig.said, "GET https://b.example/ready?a=1");
    assert_eq!(rig.on(failed(FailureClass::Refused)), "GET https://c.example/ready?a=1");
    assert_eq!(rig.on(failed(FailureClass::Refused)), "GET https://a.example/ready?a=1");
    assert_eq!(
        rig.on(failed(FailureClass::Refused)),
        "all backends failed: backend https://a.example unavailable (refused)"
    );
}

#[test]
fn the_routes_limit_bounds_the_attempts() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    assert_eq!(rig.on(head(500)), "GET https://b.example/ready");
    assert_eq!(rig.on(head(503)), "all backends failed: backend https://b.example returned HTTP 503");
}

#[test]
fn the_long_jobs_make_one_attempt_at_the_first_origin() {
    for path in ["/reconcile", "/worker"] {
        let request = format!("POST {path}");
        let mut rig = Rig::start_at(2, FOUR_ATTEMPTS, &request, &[("content-length", "0")]);
        assert_eq!(rig.said, format!("POST https://a.example{path}"));
        assert_eq!(
            rig.on(failed(FailureClass::Reset)),
            "all backends failed: backend https://a.example unavailable (reset)"
        );
    }
}

#[test]
fn every_transport_failure_moves_on() {
    use FailureClass::*;
    for class in [Timeout, Dns, Refused, Reset, Unreachable, Tls, Protocol, Limit] {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        assert_eq!(rig.on(failed(class)), "GET https://b.example/ready", "{class:?}");
        let text = format!("all backends failed: backend https://b.example unavailable ({})", class.word());
        assert_eq!(rig.on(failed(class)), text);
    }
}

#[test]
fn what_the_host_itself_refuses_does_not_move_on() {
    use FailureClass::*;
    for class in [Prohibited, Invalid, Internal] {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        let text = format!("all backends failed: backend https://a.example unavailable ({})", class.word());
        assert_eq!(rig.on(failed(class)), text);
    }
}

#[test]
fn every_status_of_500_or_more_moves_on() {
    for status in [500, 501, 502, 503, 504, 511, 599, 600, 999] {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        assert_eq!(rig.on(head(status)), "GET https://b.example/ready", "{status}");
    }
}

#[test]
fn everything_below_500_is_the_answer() {
    for status in 200..500 {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        assert_eq!(rig.on(head(status)), format!("{status} from https://a.example"));
    }
}

#[test]
fn only_204_and_304_have_no_body() {
    for status in 200..500 {
        let mut rig = Rig::start(&[], "GET /ready", &[]);
        rig.on(head(status));
        assert_eq!(rig.answer.unwrap().has_body, !matches!(status, 204 | 304), "{status}");
    }
}

#[test]
fn an_interim_status_as_the_answer_is_a_protocol_failure() {
    for status in [0, 100, 101, 103, 199] {
        let mut rig = Rig::start(&[("LB_MAX_ATTEMPTS", "1")], "GET /ready", &[]);
        let text = "all backends failed: backend https://a.example unavailable (protocol)";
        assert_eq!(rig.on(head(status)), text, "{status}");
    }
}

#[test]
fn a_head_over_128_kib_or_2000_fields_is_a_limit_failure_and_one_at_the_limit_is_not() {
    let fields = |count: usize, bytes: usize| {
        Event::Head(ResponseHead {
            status: 200,
            headers: Headers::new(vec![("n".to_owned(), vec![b'v'; bytes - 1]); count]),
        })
    };
    for (event, said) in [
        (fields(2000, 2), "200 from https://a.example"),
        (fields(2001, 2), "GET https://b.example/ready"),
        (fields(1, 128 * 1024), "200 from https://a.example"),
        (fields(1, 128 * 1024 + 1), "GET https://b.example/ready"),
    ] {
        assert_eq!(Rig::start(&[], "GET /ready", &[]).on(event), said);
    }
}

#[test]
fn the_answer_keeps_its_fields_but_for_hop_by_hop_ones_and_a_forged_backend() {
    let mut rig = Rig::start(&[], "GET /ready", &[]);
    let kept = [("set-cookie", "a=1"), ("via", "x"), ("set-cookie", "b=2")];
    let headers = Headers::from([
        ("X-LB-Backend", "https://forged.example"),
        kept[0],
        ("connection", "x-secret"),
        kept[1],
        ("x-secret", "1"),
        ("transfer-encoding", "chunked"),
        kept[2],
    ]);
    rig.on(Event::Head(ResponseHead { status: 404, headers }));
    let answer = rig.answer.unwrap();
    assert_eq!(answer.headers, Headers::from(kept));
    assert_eq!(answer.backend.as_str(), "https://a.example");
}

#[test]
fn the_body_of_an_answer_breaks_off_after_the_attempts_clock() {
    for (request, millis) in [("GET /ready", 700), ("POST /reconcile", 800), ("POST /worker", 900)] {
        let clocks = [
            ("LB_REQUEST_TIMEOUT_MS", "700"),
            ("LB_RECONCILE_TIMEOUT_MS", "800"),
            ("LB_WORKER_TIMEOUT_MS", "900"),
        ];
        let mut rig = Rig::start(&clocks, request, &[("content-length", "0")]);
        rig.on(head(200));
        assert_eq!(rig.exchange.silent_at(Millis(5)), Millis(5 + millis));
    }
}

#[test]
fn a_client_that_breaks_off_is_refused_without_failover() {
    let mut rig = Rig::start(&[], WEBHOOK, &[SIX]);
    rig.on(Event::Opened);
    rig.chunk(b"abc");
    assert_eq!(rig.on(Event::ClientFailed), "refused 400");
    let mut rig = Rig::start(&[], WEBHOOK, &[]);
    assert_eq!(rig.on(Event::ClientFailed), "refused 400");
}
