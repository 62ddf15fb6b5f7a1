//! What holds of the table as a whole, and what the other files' tests share.

use super::super::time::Millis;
use super::key::Key;
use super::rule::{ClientAddress, DEFAULT_CODE, DEFAULT_USER_HEADER, KeyKind, Limit};
use super::table::{Counted, Table};
use super::window::Hit;
use proptest::collection::vec;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;

/// 120 requests a minute.
pub(super) fn limit() -> Limit {
    Limit {
        name: "api".to_owned(),
        key: KeyKind::User,
        user_header: DEFAULT_USER_HEADER.to_owned(),
        client_address: ClientAddress::Connection,
        limit: some(120),
        window_s: some(60),
        code: DEFAULT_CODE.to_owned(),
    }
}

fn some(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

const OVERFLOW: Key = Key(u64::MAX);

fn count(table: &mut Table, key: u64, window_s: u32, now: u64) -> Hit {
    // Well mixed, as hashes are.
    let key = Key(key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    table.count(Counted { key, overflow: OVERFLOW, window_s: some(window_s) }, Millis(now))
}

fn fill(table: &mut Table, keys: Range<u64>, window_s: u32, now: u64) {
    for key in keys {
        count(table, key, window_s, now);
    }
}

#[test]
fn while_there_is_room_every_key_has_a_bucket_of_its_own() {
    let mut table = Table::new(some(5000));
    assert!((0..5000).all(|key| count(&mut table, key, 60, 0).count == 1));
    assert!((0..5000).all(|key| count(&mut table, key, 60, 59_999).count == 2));
}

#[test]
fn when_all_is_live_new_keys_share_one_bucket_and_no_old_one_is_forgotten() {
    let mut table = Table::new(some(5000));
    fill(&mut table, 0..5000, 60, 0);
    assert!((5000..6000).zip(1..).all(|(key, expected)| count(&mut table, key, 60, 1).count == expected));
    assert!((0..5000).all(|key| count(&mut table, key, 60, 2).count == 2));
    assert_eq!(table.len(), 5000);
}

#[test]
fn a_full_table_makes_room_for_new_keys_as_soon_as_a_window_is_over() {
    let mut table = Table::new(some(100));
    fill(&mut table, 0..50, 60, 0);
    fill(&mut table, 50..100, 3600, 0);
    assert_eq!([count(&mut table, 100, 60, 59_999).count, count(&mut table, 101, 60, 59_999).count], [1, 2]);
    assert_eq!(count(&mut table, 102, 60, 60_000).count, 1);
    assert_eq!(table.len(), 51);
    assert_eq!(count(&mut table, 50, 3600, 60_000).count, 2);
}

#[test]
fn nothing_is_swept_before_the_table_is_full() {
    let mut table = Table::new(some(3));
    count(&mut table, 1, 1, 0);
    count(&mut table, 2, 1, 9000);
    assert_eq!(table.len(), 2);
    count(&mut table, 3, 1, 9000);
    count(&mut table, 4, 1, 9000);
    assert_eq!(table.len(), 3);
}

#[test]
fn a_step_back_of_the_clock_does_not_fill_the_table_for_ever() {
    let mut table = Table::new(some(10));
    fill(&mut table, 0..10, 60, 1_000_000_000);
    // Still their windows: moved, not forgotten.
    assert_eq!([count(&mut table, 10, 60, 0).count, count(&mut table, 11, 60, 1).count], [1, 2]);
    assert_eq!(count(&mut table, 3, 60, 59_999).count, 2);
    assert_eq!(count(&mut table, 12, 60, 60_000).count, 1);
    assert!((20..28).all(|key| count(&mut table, key, 60, 60_000).count == 1));
}

proptest! {
    /// Against a table without bounds: what has a bucket of its own is counted exactly, and what
    /// has none is counted together with others, so never too low.
    #[test]
    fn no_key_is_ever_counted_too_low(
        most in 1_u32..100, steps in vec((0_u64..150, 0_u64..3000), 1..400),
    ) {
        let mut table = Table::new(some(most));
        let mut exact = BTreeMap::<(u64, u64), u32>::new();
        let mut now = 0;
        for (key, pause) in steps {
            now += pause;
            let expected = exact.entry((key, now / 60_000)).or_default();
            *expected += 1;
            prop_assert!(count(&mut table, key, 60, now).count >= *expected);
            prop_assert!(table.len() <= most);
        }
    }

    #[test]
    fn with_room_for_all_every_key_is_counted_exactly(steps in vec((0_u64..50, 0_u64..3000), 1..400)) {
        let mut table = Table::new(some(50));
        let mut exact = BTreeMap::<(u64, u64), u32>::new();
        let mut now = 0;
        for (key, pause) in steps {
            now += pause;
            let expected = exact.entry((key, now / 60_000)).or_default();
            *expected += 1;
            prop_assert_eq!(count(&mut table, key, 60, now).count, *expected);
        }
    }

    #[test]
    fn whatever_the_clock_does_a_full_table_has_room_again_a_window_later(
        times in vec(0_u64..1 << 50, 20..60), pause in 60_000_u64..1 << 50,
    ) {
        let mut table = Table::new(some(10));
        for (key, now) in (0..).zip(&times) {
            count(&mut table, key, 60, *now);
        }
        let last = times[times.len() - 1];
        // At the latest then everything is swept into the window of the last clock...
        count(&mut table, 1000, 60, last);
        // ...and a window later out of it.
        prop_assert_eq!(count(&mut table, 1001, 60, last + pause).count, 1);
    }
}
