//! Choices read from the bytes of an input; when they run out every choice is the first.

pub(crate) struct Draws<'a>(&'a [u8]);

impl<'a> Draws<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn number(&mut self, low: u64, high: u64) -> u64 {
        low + u64::from(self.byte()) % (high - low + 1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }
}
