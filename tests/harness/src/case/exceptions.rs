//! `tests/cases/exceptions.toml`: which case does not hold on which driver, and why. The list is
//! checked both ways: an entry that names no case, and an entry whose case passes, are errors.

use serde::Deserialize;

use super::Case;

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
    /// What the driver's host does instead, or cannot do.
    pub reason: String,
}

impl Exceptions {
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
            let Exception { case, driver, reason } = entry;
            if !cases.iter().any(|known| known.name == *case) {
                faults.push(format!("exceptions.toml: no case is named {case:?}"));
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
