//! The fixed window: it starts at `floor(now / window) * window` on the clock of the day, and its
//! first request counts 1.
//!
//! A clock may step back. A bucket whose window then lies in the future is moved to the window of
//! now with its count: it is neither forgotten, nor does it last longer than one window from then.

use super::super::time::Millis;
use std::num::NonZeroU32;

/// The requests of one key in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub(super) start: Millis,
    pub(super) window_s: NonZeroU32,
    pub(super) count: u32,
}

/// What a request found when it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// How many requests of its key this window has seen, itself included.
    pub count: u32,
    /// How long the window still lasts.
    pub left: Millis,
}

impl Bucket {
    /// An empty bucket for the window of now.
    #[must_use]
    pub fn new(window_s: NonZeroU32, now: Millis) -> Self {
        Self { start: start(window_s, now), window_s, count: 0 }
    }

    /// Counts a request.
    pub fn hit(&mut self, now: Millis) -> Hit {
        self.settle(now);
        self.count = self.count.saturating_add(1);
        Hit { count: self.count, left: self.end() - now }
    }

    /// Brings the bucket to the window of now.
    pub(super) fn settle(&mut self, now: Millis) {
        if self.is_over(now) {
            *self = Self::new(self.window_s, now);
        } else if now < self.start {
            self.start = start(self.window_s, now);
        }
    }

    /// Whether its window is behind: nothing is lost with it.
    pub(super) fn is_over(&self, now: Millis) -> bool {
        now >= self.end()
    }

    /// Where its window ends.
    pub(super) fn end(&self) -> Millis {
        self.start + length(self.window_s)
    }
}

fn start(window_s: NonZeroU32, now: Millis) -> Millis {
    now - Millis(now.0 % length(window_s).0)
}

fn length(window_s: NonZeroU32) -> Millis {
    Millis(u64::from(window_s.get()) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, prop_assume, proptest};

    fn seconds(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    fn counts(bucket: &mut Bucket, times: &[u64]) -> Vec<u32> {
        times.iter().map(|now| bucket.hit(Millis(*now)).count).collect()
    }

    #[test]
    fn windows_start_at_whole_multiples_of_their_length() {
        let bucket = Bucket::new(seconds(60), Millis(1_700_000_059_999));
        assert_eq!(bucket.start, Millis(1_700_000_040_000));
        assert_eq!(bucket.end(), Millis(1_700_000_100_000));
    }

    #[test]
    fn the_first_request_of_a_window_counts_one() {
        let mut bucket = Bucket::new(seconds(10), Millis(15_000));
        assert_eq!(counts(&mut bucket, &[15_000, 19_999, 20_000, 29_999, 50_000]), [1, 2, 1, 2, 1]);
    }

    #[test]
    fn a_step_back_moves_the_bucket_and_keeps_its_count() {
        let mut bucket = Bucket::new(seconds(10), Millis(95_000));
        assert_eq!(counts(&mut bucket, &[95_000, 95_001]), [1, 2]);
        let hit = bucket.hit(Millis(31_000));
        assert_eq!(hit, Hit { count: 3, left: Millis(9000) });
        assert_eq!(counts(&mut bucket, &[39_999, 40_000]), [4, 1]);
    }

    #[test]
    fn a_count_does_not_wrap() {
        let mut bucket = Bucket { start: Millis(0), window_s: seconds(1), count: u32::MAX };
        assert_eq!(bucket.hit(Millis(1)).count, u32::MAX);
    }

    proptest! {
        #[test]
        fn whatever_the_clock_does_what_is_left_is_more_than_nothing_and_at_most_a_window(
            window in 1_u32.., times in vec(0_u64..1 << 52, 1..50),
        ) {
            let mut bucket = Bucket::new(seconds(window), Millis(times[0]));
            for now in times {
                let hit = bucket.hit(Millis(now));
                prop_assert!(hit.left > Millis::ZERO && hit.left <= length(seconds(window)));
                prop_assert!(bucket.start <= Millis(now));
            }
        }

        #[test]
        fn once_a_request_was_counted_a_window_later_nothing_is_left_of_it(
            window in 1_u32..100_000, times in vec(0_u64..1 << 52, 1..50),
        ) {
            let mut bucket = Bucket::new(seconds(window), Millis(times[0]));
            counts(&mut bucket, &times);
            let later = times[times.len() - 1] + length(seconds(window)).0;
            prop_assert_eq!(bucket.hit(Millis(later)).count, 1);
        }

        #[test]
        fn within_one_window_and_at_any_step_back_every_request_counts(
            window in 1_u32..100_000, times in vec(0_u64..1 << 52, 1..50),
        ) {
            prop_assume!(times.iter().all(|now| *now > 0));
            let mut falling = times;
            falling.sort_unstable_by(|a, b| b.cmp(a));
            let mut bucket = Bucket::new(seconds(window), Millis(falling[0]));
            let expected: Vec<_> = (1..=u32::try_from(falling.len()).unwrap()).collect();
            prop_assert_eq!(counts(&mut bucket, &falling), expected);
        }
    }
}
