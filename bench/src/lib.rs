//! messageweave-lb measured beside what its users would otherwise run, all in one run on one machine.
//!
//! ```text
//! load (this process) ──http──> contender (a process) ──https──> origins (this process)
//! ```
//!
//! Everything shares the machine, so a number alone says little: what counts is a ratio to another
//! contender of the same run. Rounds alternate over the contenders, and medians are compared. A wrong
//! answer fails the run: nobody is fast by being wrong.

pub mod contender;
pub mod machine;
pub mod measure;
pub mod origins;
pub mod process;
pub mod report;
pub mod rounds;
pub mod work;

/// What went wrong, in words.
pub type Fallible<T> = Result<T, String>;
