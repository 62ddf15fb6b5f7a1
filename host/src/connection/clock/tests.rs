use super::*;

const HEAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

fn clock() -> Arc<Clock> {
    of(Framing::http1())
}

fn of(framing: Framing) -> Arc<Clock> {
    Arc::new(Clock::of_test(GOODBYE, framing))
}

impl Clock {
    pub(in crate::connection) fn is_in_flight(&self) -> bool {
        self.locked(|state| state.in_flight > 0)
    }

    pub(in crate::connection) fn of_test(goodbye: Duration, framing: Framing) -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            goodbye,
            state: Mutex::new(State::new(framing)),
            origin_reached: Notify::new(),
        }
    }
}

async fn after(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_head_has_its_time_from_its_first_byte() {
    let clock = clock();
    clock.received(HEAD);
    drop(Arc::clone(&clock).begin(Content::None));
    after(50).await;
    clock.received(b"GET /");
    after(9).await;
    clock.received(b" HT");
    assert_eq!(clock.verdict(None), Verdict::GoOn);
    after(1).await;
    assert_eq!(clock.verdict(None), Verdict::Close, "further bytes of the same head buy no time");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_has_longer_than_a_head_and_is_told() {
    let clock = clock();
    clock.received(HEAD);
    drop(Arc::clone(&clock).begin(Content::None));
    after(59).await;
    assert_eq!(clock.verdict(None), Verdict::GoOn);
    after(1).await;
    assert_eq!(clock.verdict(None), Verdict::SayGoodbye);
    let told = Some(Instant::now());
    assert_eq!(clock.verdict(told), Verdict::GoOn);
    after(1).await;
    assert_eq!(clock.verdict(told), Verdict::Close);
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_is_never_over() {
    let clock = clock();
    let told = Some(Instant::now());
    clock.received(HEAD);
    let in_flight = Arc::clone(&clock).begin(Content::None);
    after(400).await;
    assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
    drop(in_flight);
    assert_eq!(clock.verdict(told), Verdict::GoOn);
    after(1).await;
    assert_eq!(clock.verdict(told), Verdict::Close);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_unsent_bytes_is_never_over_and_then_has_its_time() {
    let clock = clock();
    clock.received(HEAD);
    drop(Arc::clone(&clock).begin(Content::None));
    clock.blocked();
    after(400).await;
    let told = Some(Instant::now());
    after(400).await;
    assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
    clock.flushed();
    assert_eq!((clock.verdict(None), clock.verdict(told)), (Verdict::GoOn, Verdict::GoOn));
    after(1).await;
    assert_eq!(clock.verdict(told), Verdict::Close);
    clock.flushed();
    after(59).await;
    assert_eq!(clock.verdict(None), Verdict::SayGoodbye, "a later flush of nothing buys no time");
}

#[tokio::test(start_paused = true)]
async fn a_head_behind_another_request_has_its_time_from_the_end_of_that() {
    let with_body: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";
    for (first, content) in [(HEAD, Content::None), (with_body, Content::Length(4))] {
        for (behind, verdict) in [(b"GE".as_slice(), Verdict::Close), (b"", Verdict::GoOn)] {
            let clock = clock();
            clock.received(&[first, behind].concat());
            let in_flight = Arc::clone(&clock).begin(content);
            after(100).await;
            drop(in_flight);
            after(9).await;
            assert_eq!(clock.verdict(None), Verdict::GoOn);
            after(1).await;
            assert_eq!(clock.verdict(None), verdict, "{content:?} {behind:?}");
        }
    }
}

/// The preface of h2 and these frames: kind, flags, length told, bytes sent.
fn h2(frames: &[(u8, u8, u8, usize)]) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    for (kind, flags, told, sent) in frames {
        bytes.extend_from_slice(&[0, 0, *told, *kind, *flags, 0, 0, 0, 1]);
        bytes.extend(std::iter::repeat_n(0, *sent));
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn a_part_of_an_h2_head_has_its_time_beside_a_request_in_flight() {
    let open_headers = h2(&[(4, 0, 0, 0), (1, 0, 5, 5)]);
    let half_headers = h2(&[(1, 4, 5, 3)]);
    let half_settings = h2(&[(4, 0, 6, 1)]);
    for bytes in [open_headers, half_headers, half_settings] {
        let clock = of(Framing::http2());
        let in_flight = Arc::clone(&clock).begin(Content::None);
        clock.received(&bytes);
        after(9).await;
        assert_eq!(clock.verdict(None), Verdict::GoOn);
        clock.received(&[]);
        after(1).await;
        assert_eq!(clock.verdict(None), Verdict::Close);
        drop(in_flight);
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_data_frame_is_the_business_of_its_request_while_there_is_one() {
    let clock = of(Framing::http2());
    let in_flight = Arc::clone(&clock).begin(Content::None);
    clock.received(&h2(&[(0, 0, 9, 3)]));
    after(100).await;
    assert_eq!(clock.verdict(None), Verdict::GoOn);
    drop(in_flight);
    after(10).await;
    assert_eq!(clock.verdict(None), Verdict::Close);
}

#[tokio::test(start_paused = true)]
async fn whole_h2_frames_leave_nothing_waiting() {
    let clock = of(Framing::http2());
    let in_flight = Arc::clone(&clock).begin(Content::None);
    clock.received(&h2(&[(1, 0, 5, 5)]));
    after(9).await;
    // The rest of that head, and the beginning of the next.
    clock.received(&[[0, 0, 1, 9, 4, 0, 0, 0, 1, 0].as_slice(), &[0, 0, 9]].concat());
    after(9).await;
    assert_eq!(clock.verdict(None), Verdict::GoOn);
    clock.received(&[1, 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    after(100).await;
    assert_eq!(clock.verdict(None), Verdict::GoOn);
    drop(in_flight);
}
