//! The limiter over any sequence of keys and clocks. Two bytes of an input are the size of the
//! table and the window, then each request takes a byte for its key and one or more for the clock.

use super::draws::Draws;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::limit::key::Secret;
use messageweave_lb::policy::limit::parts::Parts;
use messageweave_lb::policy::limit::rule::{ClientAddress, DEFAULT_USER_HEADER, KeyKind, Limit};
use messageweave_lb::policy::limit::table::{Counted, Table};
use messageweave_lb::policy::limit::window::Hit;
use messageweave_lb::policy::time::Millis;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

const DICE: [u64; 2] = [3, 5];

/// No count goes down before its window ends, no window is longer than it should be, and the table
/// of a host that shares bytes counts as the one in memory does.
pub(crate) fn check(data: &[u8]) {
    let mut draws = Draws::new(data);
    let room = NonZeroU32::new(draws.pick(&[1, 2, 3, 8, 100])).unwrap();
    let limit = limit(draws.pick(&[1, 2, 60, u32::MAX]));
    let window = u64::from(limit.window_s.get()) * 1000;
    let (parts, mut part, mut over) = (Parts::new(room), Vec::new(), Vec::new());
    let mut table = Table::new(room);
    // What each key was told, as long as the clock stayed within that window.
    let mut told = BTreeMap::<u8, Hit>::new();
    let mut now = Millis(1_700_000_000_000);
    while !draws.is_empty() {
        let key = draws.byte();
        let before = now;
        now = tick(&mut draws, now, window);
        if now < before || before.0 / window != now.0 / window {
            told.clear();
        }
        let request = request(&limit, key);
        let hit = table.count(request, now);
        assert!(hit.left > Millis::ZERO && hit.left.0 <= window, "{hit:?} of a window of {window} ms");
        if let Some(last) = told.insert(key, hit) {
            assert!(hit.count > last.count, "{last:?} was forgotten: {hit:?}");
        }
        let stored = parts.count_in(&part, request, now);
        part = stored.part.unwrap_or(part);
        let divided = stored.hit.unwrap_or_else(|| {
            let (hit, stored) = Parts::count_over(&over, request, now);
            over = stored;
            hit
        });
        assert_eq!(divided, hit, "the divided table counts otherwise");
        assert!(table.len() <= room.get());
        assert!(part.len() <= room.get() as usize * 24 && over.len() <= 24);
    }
}

fn limit(window_s: u32) -> Limit {
    Limit {
        name: "api".to_owned(),
        key: KeyKind::User,
        user_header: DEFAULT_USER_HEADER.to_owned(),
        client_address: ClientAddress::Connection,
        limit: NonZeroU32::MIN,
        window_s: NonZeroU32::new(window_s).unwrap(),
        code: String::new(),
    }
}

fn request(limit: &Limit, key: u8) -> Counted {
    let headers = Headers::from([("authorization", key.to_string().as_str())]);
    Counted::of(Secret::new(DICE), limit, &headers, None)
}

/// Mostly forward, by little and by much; now and then back.
fn tick(draws: &mut Draws<'_>, now: Millis, window: u64) -> Millis {
    match draws.pick(&[0, 1, 2, 3, 4, 5, 6, 7]) {
        0 => now,
        1 => now + Millis(draws.number(0, 255)),
        2 => now + Millis(draws.number(0, 255) * 100),
        3 => now + Millis(window / 2),
        4 => now + Millis(window),
        5 => now - Millis(draws.number(0, 255)),
        6 => now - Millis(window),
        _ => Millis(draws.number(0, 255) * 1_000_000_007),
    }
}
