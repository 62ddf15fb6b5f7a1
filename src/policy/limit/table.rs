//! The bounded table of an instance. A sweep runs only when the table is full, and removes what is
//! outside its window; if all is live, new keys of a limit share one overflow bucket. So no bucket
//! within its window is ever forgotten, however many keys come.

use super::super::headers::Headers;
use super::super::time::Millis;
use super::address::Address;
use super::key::{Key, Secret};
use super::rule::Limit;
use super::shelf::Shelf;
use super::window::Hit;
use std::num::NonZeroU32;

/// A shelf is looked through from end to end.
const KEYS_PER_SHELF: u32 = 64;

/// A request as the table sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// What it is counted under.
    pub key: Key,
    /// What it is counted under when there is no room.
    pub overflow: Key,
    /// The window of its limit.
    pub window_s: NonZeroU32,
}

/// Buckets, up to a number that is never exceeded, and the overflow buckets: one for each limit.
#[derive(Debug)]
pub struct Table {
    shelves: Vec<Shelf>,
    len: u32,
    max_entries: u32,
    overflow: Shelf,
    live: Live,
}

/// A span of time within which every bucket of a table is live.
#[derive(Debug)]
struct Live {
    from: Millis,
    until: Millis,
}

impl Counted {
    /// A request with these fields, from that address, under a limit.
    #[must_use]
    pub fn of(secret: Secret, limit: &Limit, headers: &Headers, address: Option<Address>) -> Self {
        Self {
            key: Key::of(secret, limit, headers, address),
            overflow: Key::overflow(secret, limit),
            window_s: limit.window_s,
        }
    }
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(max_entries: NonZeroU32) -> Self {
        let max_entries = max_entries.get();
        let shelves = (0..max_entries.div_ceil(KEYS_PER_SHELF)).map(|_| Shelf::default());
        Self {
            shelves: shelves.collect(),
            len: 0,
            max_entries,
            overflow: Shelf::default(),
            live: Live::ALWAYS,
        }
    }

    /// Counts a request.
    pub fn count(&mut self, request: Counted, now: Millis) -> Hit {
        let Counted { key, overflow, window_s } = request;
        if let Some(hit) = self.shelf(key).and_then(|shelf| shelf.hit(key, now)) {
            self.live.include(window_s, hit, now);
            return hit;
        }
        if self.len >= self.max_entries && !self.live.holds(now) {
            self.sweep(now);
        }
        if self.len < self.max_entries
            && let Some(shelf) = self.shelf(key)
        {
            let hit = shelf.add(key, window_s, now);
            self.len += 1;
            self.live.include(window_s, hit, now);
            return hit;
        }
        self.overflow.count(overflow, window_s, now)
    }

    /// How many keys have a bucket of their own.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether none has.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn shelf(&mut self, Key(key): Key) -> Option<&mut Shelf> {
        let place = key.checked_rem(self.shelves.len() as u64)?;
        self.shelves.get_mut(usize::try_from(place).ok()?)
    }

    fn sweep(&mut self, now: Millis) {
        self.live = Live::ALWAYS;
        self.len = 0;
        for shelf in &mut self.shelves {
            shelf.sweep(now);
            for bucket in shelf.buckets() {
                self.len += 1;
                self.live.narrow(bucket.start, bucket.end());
            }
        }
    }
}

impl Live {
    const ALWAYS: Self = Self { from: Millis::ZERO, until: Millis(u64::MAX) };

    const fn holds(&self, now: Millis) -> bool {
        self.from.0 <= now.0 && now.0 < self.until.0
    }

    /// A bucket was counted in just now.
    fn include(&mut self, window_s: NonZeroU32, hit: Hit, now: Millis) {
        let end = now + hit.left;
        self.narrow(end - Millis(u64::from(window_s.get()) * 1000), end);
    }

    fn narrow(&mut self, from: Millis, until: Millis) {
        self.from = self.from.max(from);
        self.until = self.until.min(until);
    }
}
