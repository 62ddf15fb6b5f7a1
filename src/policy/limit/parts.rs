//! The table of a host that keeps bytes under names for several threads, and swaps them if nobody
//! else did meanwhile. What is swapped is copied whole, so the table is divided: each part holds
//! its share of the entries and is full on its own. The overflow buckets are one part more.
//!
//! The host loads a part, has the request counted in it, and stores what comes out; if another
//! thread was faster, it begins again.

use super::super::time::Millis;
use super::shelf::Shelf;
use super::table::Counted;
use super::window::Hit;
use std::num::NonZeroU32;

/// Three kilobytes for each copy.
const KEYS_PER_PART: u32 = 128;

/// How a table is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    count: NonZeroU32,
    room: usize,
}

/// What became of a request in a part.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    /// What the request found; nothing where there is no room for it.
    pub hit: Option<Hit>,
    /// The part to store, where it changed.
    pub part: Option<Vec<u8>>,
}

impl Parts {
    /// Parts for so many entries together; for a few, one part alone.
    #[must_use]
    pub fn new(max_entries: NonZeroU32) -> Self {
        let count = NonZeroU32::new(max_entries.get().div_ceil(KEYS_PER_PART)).unwrap_or(NonZeroU32::MIN);
        Self { count, room: usize::try_from(max_entries.get() / count).unwrap_or(usize::MAX) }
    }

    /// How many parts there are, besides the one of the overflow buckets.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count.get()
    }

    /// The part in which a request is counted.
    #[must_use]
    pub fn place(self, request: Counted) -> u32 {
        // The remainder is below a number of 32 bits.
        u32::try_from(request.key.0 % u64::from(self.count.get())).unwrap_or_default()
    }

    /// Counts a request in its part.
    #[must_use]
    pub fn count_in(self, part: &[u8], request: Counted, now: Millis) -> Stored {
        let mut shelf = Shelf::decode(part);
        let mut hit = shelf.hit(request.key, now);
        // Buckets of the future that a sweep moved must be stored even where it made no room.
        let swept = hit.is_none() && shelf.len() >= self.room && shelf.sweep(now);
        if hit.is_none() && shelf.len() < self.room {
            hit = Some(shelf.add(request.key, request.window_s, now));
        }
        Stored { hit, part: (hit.is_some() || swept).then(|| shelf.encode()) }
    }

    /// Counts a request for which there was no room, in the part of the overflow buckets.
    #[must_use]
    pub fn count_over(part: &[u8], request: Counted, now: Millis) -> (Hit, Vec<u8>) {
        let mut shelf = Shelf::decode(part);
        let hit = shelf.count(request.overflow, request.window_s, now);
        (hit, shelf.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Key;
    use super::*;

    fn request(key: u64) -> Counted {
        Counted { key: Key(key), overflow: Key(0), window_s: NonZeroU32::new(60).unwrap() }
    }

    #[test]
    fn the_parts_together_never_hold_more_than_the_table_may() {
        for most in [1, 2, 127, 128, 129, 5000, 1_000_000] {
            let parts = Parts::new(NonZeroU32::new(most).unwrap());
            let room = parts.room * usize::try_from(parts.count()).unwrap();
            assert!(room <= most as usize && room + 64 > most as usize * 9 / 10, "{most}");
            assert!(parts.room >= 1 && parts.room <= 128, "{most}");
        }
    }

    #[test]
    fn a_full_part_leaves_new_keys_to_the_overflow_until_something_is_outside_its_window() {
        let parts = Parts::new(NonZeroU32::new(2).unwrap());
        let mut part = Vec::new();
        for key in [1, 2, 1] {
            part = parts.count_in(&part, request(key), Millis(0)).part.unwrap();
        }
        let nothing = Stored { hit: None, part: None };
        assert_eq!(parts.count_in(&part, request(3), Millis(59_999)), nothing);
        assert_eq!(parts.count_in(&part, request(1), Millis(59_999)).hit.unwrap().count, 3);
        let stored = parts.count_in(&part, request(3), Millis(60_000));
        assert_eq!((stored.hit.unwrap().count, stored.part.unwrap().len()), (1, 24));
    }

    #[test]
    fn after_a_step_back_a_full_part_is_stored_with_its_buckets_in_the_window_of_now() {
        let parts = Parts::new(NonZeroU32::MIN);
        let future = parts.count_in(&[], request(1), Millis(6_000_000)).part.unwrap();
        let stored = parts.count_in(&future, request(2), Millis(0));
        assert_eq!(stored.hit, None);
        let stored = parts.count_in(&stored.part.unwrap(), request(2), Millis(60_000));
        assert_eq!(stored.hit.unwrap().count, 1);
    }

    #[test]
    fn those_without_room_are_counted_together() {
        let (first, part) = Parts::count_over(&[], request(1), Millis(0));
        let (second, part) = Parts::count_over(&part, request(2), Millis(0));
        assert_eq!((first.count, second.count, part.len()), (1, 2, 24));
    }
}
