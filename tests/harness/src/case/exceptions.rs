//! `tests/cases/exceptions.toml`: where a case does not hold on a driver, and why. The list is checked
//! both ways: an entry that names no case or no place of it, and a place that holds, are errors.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Case, Place};

/// The whole list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    /// The entries.
    #[serde(default)]
    pub exception: Vec<Exception>,
}

/// One case that does not hold on one driver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The name of the case.
    pub case: String,
    /// The name of the driver.
    pub driver: String,
    /// Where it differs, and nowhere else. Absent: in the one step that the case has.
    pub at: Option<BTreeSet<Place>>,
    /// What the driver's host does instead, or cannot do.
    pub reason: String,
}

impl Exceptions {
    /// The list from its text.
    ///
    /// # Errors
    /// What is wrong with it, naming the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("exceptions.toml: {error}"))
    }

    /// The entry for a case on a driver.
    #[must_use]
    pub fn find(&self, case: &str, driver: &str) -> Option<&Exception> {
        self.exception.iter().find(|entry| entry.case == case && entry.driver == driver)
    }

    /// What is wrong with the list itself.
    #[must_use]
    pub fn faults(&self, cases: &[Case], drivers: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, entry) in self.exception.iter().enumerate() {
            let Exception { case, driver, reason, .. } = entry;
            match cases.iter().find(|known| known.name == *case) {
                None => faults.push(format!("exceptions.toml: no case is named {case:?}")),
                Some(known) => faults.extend(entry.place_faults(known.step.len())),
            }
            if !drivers.contains(&driver.as_str()) {
                faults.push(format!("exceptions.toml: no driver is named {driver:?} ({case})"));
            }
            if reason.trim().is_empty() {
                faults.push(format!("exceptions.toml: {case} on {driver} has no reason"));
            }
            let earlier = self.exception.iter().take(index);
            if earlier.into_iter().any(|other| other.case == *case && other.driver == *driver) {
                faults.push(format!("exceptions.toml: {case} on {driver} is listed twice"));
            }
        }
        faults
    }
}

impl Exception {
    /// Where it differs.
    #[must_use]
    pub fn places(&self) -> BTreeSet<Place> {
        self.at.clone().unwrap_or_else(|| BTreeSet::from([Place::Step(1)]))
    }

    /// What is wrong with the places, in a case of so many steps.
    fn place_faults(&self, steps: usize) -> Vec<String> {
        let Self { case, driver, .. } = self;
        if self.places().is_empty() || (self.at.is_none() && steps > 1) {
            return vec![format!("exceptions.toml: {case} on {driver} does not say where: at = [..]")];
        }
        let beyond = |place: &Place| matches!(place, Place::Step(number) if !(1..=steps).contains(number));
        let beyond = self.places().into_iter().filter(beyond);
        beyond.map(|place| format!("exceptions.toml: {case} has no {place} ({driver})")).collect()
    }
}
