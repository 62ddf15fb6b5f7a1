//! Time as the policy sees it: whole milliseconds, handed in by the shell.

use std::fmt;
use std::ops::{Add, Sub};

/// A span or an instant on the shell's monotonic clock, in milliseconds.
///
/// The policy never reads a clock: each shell passes `now` in, and only differences count.
/// Arithmetic saturates, so a clock that steps back yields zero instead of an endless wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Millis {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Millis {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// What is left of an allowance of time. It only shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(Millis);

impl Budget {
    /// A full allowance.
    #[must_use]
    pub const fn new(whole: Millis) -> Self {
        Self(whole)
    }

    /// Takes `spent` off; never below zero.
    pub fn spend(&mut self, spent: Millis) {
        self.0 = self.0 - spent;
    }

    /// What is left.
    #[must_use]
    pub const fn left(self) -> Millis {
        self.0
    }

    /// Whether it is used up.
    #[must_use]
    pub const fn is_spent(self) -> bool {
        self.0.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_steps_back_costs_nothing() {
        assert_eq!(Millis(5) - Millis(9), Millis::ZERO);
    }

    #[test]
    fn a_budget_only_shrinks_and_ends_at_zero() {
        let mut budget = Budget::new(Millis(10));
        budget.spend(Millis(4));
        assert_eq!(budget.left(), Millis(6));
        budget.spend(Millis(40));
        assert!(budget.is_spent());
    }
}
