//! Choices that depend on numbers alone, so that no order of arrival changes them.

/// A stream of numbers (SplitMix64) that begins where its seeds say.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn of(seeds: &[u64]) -> Self {
        let mut dice = Self(0);
        for seed in seeds {
            dice.0 = dice.roll() ^ seed;
        }
        dice
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// True in so many of a hundred.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these, as often as its weight says.
    pub(super) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)], otherwise: T) -> T {
        let mut left = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *choice,
            }
        }
        otherwise
    }

    /// Bytes in which nothing repeats, so that no piece of them can be taken for another.
    pub(super) fn bytes(&mut self, count: u64) -> Vec<u8> {
        let count = count as usize;
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend_from_slice(&self.roll().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
