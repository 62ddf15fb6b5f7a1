//! Which rounds count: those in which the machine was the same.
//!
//! What shares a virtual machine's hardware may move its cores apart in the middle of a run, to where they
//! have no cache in common. Whoever works on both is slower by a quarter then, load generator and all, and
//! whoever works on one is not: ratios of such rounds are those of another machine.

use std::time::Duration;

use crate::{Fallible, machine};

/// A round of every contender in turn.
struct Turn<T> {
    rounds: Vec<T>,
    /// How far apart the cores were meanwhile, at the most.
    distance: Duration,
}

/// Cores are apart when a way between them is longer than the shortest of the run by this factor.
const APART: u32 = 3;

/// Takes turns as often as asked, and again where the cores were further apart than they are elsewhere in the
/// run, until as many turns again are spent; then the nearest count.
pub struct Turns {
    wanted: usize,
    distance: fn() -> Duration,
    /// The shortest distance in all of the run.
    shortest: Duration,
    /// Turns with the cores apart that were put aside.
    pub aside: usize,
    /// Turns with the cores apart that count all the same.
    pub apart: usize,
}

impl Turns {
    /// So many for each kind of request.
    #[must_use]
    pub fn new(wanted: usize) -> Self {
        Self::measured_by(wanted, machine::core_distance)
    }

    fn measured_by(wanted: usize, distance: fn() -> Duration) -> Self {
        Self { wanted, distance, shortest: distance(), aside: 0, apart: 0 }
    }

    /// The shortest way from core to core and back in this run, and the longest in turns that count.
    #[must_use]
    pub fn near(&self) -> (Duration, Duration) {
        (self.shortest, self.shortest * APART)
    }

    /// The rounds that count, contender by contender.
    ///
    /// # Errors
    /// Those of a round.
    pub fn take<C, T>(
        &mut self,
        contenders: &[C],
        mut round: impl FnMut(&C) -> Fallible<T>,
    ) -> Fallible<Vec<Vec<T>>> {
        let mut turns = Vec::new();
        while self.near_ones(&turns) < self.wanted && turns.len() < self.wanted * 2 {
            // The first of a turn is another one every time.
            let order = contenders.iter().enumerate().cycle().skip(turns.len()).take(contenders.len());
            let mut turn = Turn { rounds: Vec::new(), distance: (self.distance)() };
            for (index, contender) in order {
                turn.rounds.push((index, round(contender)?));
                turn.distance = turn.distance.max((self.distance)());
            }
            self.shortest = self.shortest.min(turn.distance);
            turns.push(turn);
        }
        // A stable order: of equally near ones the earlier count.
        turns.sort_by_key(|turn| turn.distance > self.near().1);
        self.aside += turns.len().saturating_sub(self.wanted);
        turns.truncate(self.wanted);
        self.apart += turns.len() - self.near_ones(&turns);
        let mut rounds: Vec<_> = contenders.iter().map(|_| Vec::new()).collect();
        for (index, round) in turns.into_iter().flat_map(|turn| turn.rounds) {
            rounds.get_mut(index).ok_or("a contender too many")?.push(round);
        }
        Ok(rounds)
    }

    fn near_ones<T>(&self, turns: &[Turn<T>]) -> usize {
        turns.iter().filter(|turn| turn.distance <= self.near().1).count()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static DISTANCES: Cell<&'static [u64]> = const { Cell::new(&[]) };
    }

    /// The next of the distances that were laid out, the last over and over.
    fn distance() -> Duration {
        let distances = DISTANCES.get();
        if let [_, rest @ ..] = distances
            && !rest.is_empty()
        {
            DISTANCES.set(rest);
        }
        Duration::from_nanos(distances[0])
    }

    /// The numbers of the turns that count, those put aside, and those that count with the cores apart.
    fn counting(wanted: usize, distances: &'static [u64]) -> (Vec<usize>, usize, usize) {
        DISTANCES.set(distances);
        let mut turns = Turns::measured_by(wanted, distance);
        let mut number = 0;
        let rounds = turns.take(&[()], |()| {
            number += 1;
            Ok(number)
        });
        (rounds.unwrap().remove(0), turns.aside, turns.apart)
    }

    #[test]
    fn where_the_cores_stay_every_turn_counts() {
        assert_eq!(counting(3, &[100]), (vec![1, 2, 3], 0, 0));
        assert_eq!(counting(3, &[400]), (vec![1, 2, 3], 0, 0));
        assert_eq!(counting(3, &[100, 90, 270, 150]), (vec![1, 2, 3], 0, 0));
    }

    #[test]
    fn a_turn_with_the_cores_apart_is_taken_again() {
        // One before all, then two for each turn.
        assert_eq!(counting(2, &[100, 100, 400, 100]), (vec![2, 3], 1, 0));
        assert_eq!(counting(2, &[100, 100, 100, 400, 100, 100]), (vec![1, 3], 1, 0));
    }

    #[test]
    fn no_more_turns_are_spent_than_twice_as_many_as_asked_for() {
        assert_eq!(counting(2, &[100, 400]), (vec![1, 2], 2, 2));
        assert_eq!(counting(2, &[100, 400, 400, 400, 400, 100, 100, 400]), (vec![3, 1], 2, 1));
    }

    #[test]
    fn a_turn_that_counted_does_not_when_the_cores_turn_out_to_have_been_apart() {
        assert_eq!(counting(2, &[400, 400, 400, 100]), (vec![2, 3], 1, 0));
    }

    #[test]
    fn every_contender_has_a_round_in_each_turn_and_another_is_first_every_time() {
        DISTANCES.set(&[100]);
        let mut order = Vec::new();
        let rounds = Turns::measured_by(2, distance).take(&[0, 1, 2], |contender| {
            order.push(*contender);
            Ok(*contender)
        });
        assert_eq!(rounds.unwrap(), [[0, 0], [1, 1], [2, 2]]);
        assert_eq!(order, [0, 1, 2, 1, 2, 0]);
    }
}
