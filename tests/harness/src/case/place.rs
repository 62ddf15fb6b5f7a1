//! Where a run can differ from its case.

use std::fmt;

use serde::Deserialize;

/// A place that an exception can name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(untagged, expecting = "a place is the number of a step, \"log\" or \"script\"")]
pub enum Place {
    /// A step, counted from 1: its answer, and what origins saw meanwhile.
    Step(usize),
    /// What belongs to no step.
    Whole(Whole),
}

/// What belongs to the case as a whole.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Whole {
    /// The lines of the policy's log.
    Log,
    /// Turns of the origins that were not used.
    Script,
}

impl Place {
    /// The lines of the policy's log.
    pub const LOG: Self = Self::Whole(Whole::Log);
    /// Turns of the origins that were not used.
    pub const SCRIPT: Self = Self::Whole(Whole::Script);
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(number) => write!(formatter, "step {number}"),
            Self::Whole(Whole::Log) => formatter.write_str("log"),
            Self::Whole(Whole::Script) => formatter.write_str("script"),
        }
    }
}
