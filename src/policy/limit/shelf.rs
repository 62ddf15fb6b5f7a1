//! Some buckets by their keys: one part of a table, small enough to be looked through.

use super::super::time::Millis;
use super::key::Key;
use super::window::{Bucket, Hit};
use std::num::NonZeroU32;

/// The bytes of one bucket and its key, written down.
const ENTRY: usize = 24;

/// Buckets, in the order in which they came.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shelf(Vec<(Key, Bucket)>);

impl Shelf {
    /// Counts a request, the first of its key too.
    pub(super) fn count(&mut self, key: Key, window_s: NonZeroU32, now: Millis) -> Hit {
        self.hit(key, now).unwrap_or_else(|| self.add(key, window_s, now))
    }

    /// Counts a request if its key has a bucket.
    pub(super) fn hit(&mut self, key: Key, now: Millis) -> Option<Hit> {
        let found = self.0.iter_mut().find(|(known, _)| *known == key);
        found.map(|(_, bucket)| bucket.hit(now))
    }

    /// Counts the first request of a key.
    pub(super) fn add(&mut self, key: Key, window_s: NonZeroU32, now: Millis) -> Hit {
        let mut bucket = Bucket::new(window_s, now);
        let hit = bucket.hit(now);
        self.0.push((key, bucket));
        hit
    }

    /// Removes what is outside its window, and brings back what the clock left in the future. Says
    /// whether there was anything of either.
    pub(super) fn sweep(&mut self, now: Millis) -> bool {
        let mut changed = false;
        self.0.retain_mut(|(_, bucket)| {
            let stays = !bucket.is_over(now);
            changed |= !stays || now < bucket.start;
            bucket.settle(now);
            stays
        });
        changed
    }

    pub(super) fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.0.iter().map(|(_, bucket)| bucket)
    }

    /// How many buckets there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The buckets as bytes, for a host that keeps nothing else.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len().saturating_mul(ENTRY));
        for (Key(key), Bucket { start, window_s, count }) in &self.0 {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(&start.0.to_le_bytes());
            bytes.extend_from_slice(&window_s.get().to_le_bytes());
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// Reads them back; what is no bucket is left out.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let (entries, _) = bytes.as_chunks::<ENTRY>();
        Self(entries.iter().filter_map(entry).collect())
    }
}

fn entry(bytes: &[u8; ENTRY]) -> Option<(Key, Bucket)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (start, rest) = rest.split_first_chunk()?;
    let (window_s, rest) = rest.split_first_chunk()?;
    let bucket = Bucket {
        start: Millis(u64::from_le_bytes(*start)),
        window_s: NonZeroU32::new(u32::from_le_bytes(*window_s))?,
        count: u32::from_le_bytes(*rest.first_chunk()?),
    };
    Some((Key(u64::from_le_bytes(*key)), bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
    const HOUR: NonZeroU32 = NonZeroU32::new(3600).unwrap();

    #[test]
    fn buckets_are_read_back_as_they_were_written() {
        let mut shelf = Shelf::default();
        shelf.add(Key(u64::MAX), MINUTE, Millis(1_700_000_000_000));
        shelf.add(Key(7), MINUTE, Millis(0));
        shelf.hit(Key(7), Millis(5));
        assert_eq!(shelf.encode().len(), 48);
        assert_eq!(Shelf::decode(&shelf.encode()), shelf);
    }

    #[test]
    fn a_sweep_removes_only_what_is_outside_its_window() {
        let mut shelf = Shelf::default();
        shelf.add(Key(1), MINUTE, Millis(0));
        shelf.add(Key(2), HOUR, Millis(0));
        shelf.sweep(Millis(59_999));
        assert_eq!(shelf.len(), 2);
        shelf.sweep(Millis(60_000));
        assert_eq!((shelf.hit(Key(1), Millis(60_000)), shelf.len()), (None, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_some_buckets(bytes in vec(any::<u8>(), 0..200), now in any::<u64>()) {
            let mut shelf = Shelf::decode(&bytes);
            prop_assert!(shelf.len() <= bytes.len() / ENTRY);
            prop_assert_eq!(&Shelf::decode(&shelf.encode()), &shelf);
            shelf.sweep(Millis(now));
        }
    }
}
