//! The edge rate limiter: fixed windows, counted in memory, for edges where there is no central
//! counter.
//!
//! Its state is a value that the shell keeps: a [`Limiter`](limiter::Limiter) in an instance, or [`Parts`](parts) on
//! a host whose threads share nothing but bytes.
//!
//! | file | rule |
//! |---|---|
//! | [`rule`] | what a document's `limits` entry means |
//! | [`address`] | the client's address |
//! | [`key`] | what a request is counted under |
//! | [`window`] | the fixed window of one key |
//! | [`limiter`], [`table`], [`shelf`] | the bounded table of an instance |
//! | [`parts`] | the same table, divided for a host that shares bytes between threads |
//! | [`gate`] | the step of admission at which a request is counted |
//! | [`answer`] | the fields of every answer, and the `429` |

pub mod address;
pub mod answer;
pub mod gate;
pub mod key;
pub mod limiter;
pub mod parts;
pub mod rule;
pub mod shelf;
pub mod table;
pub mod window;

#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod tests;
