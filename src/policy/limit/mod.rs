//! The edge rate limiter: fixed windows, counted per instance, bounded in memory.
//!
//! | file | rule |
//! |---|---|
//! | [`rule`] | what a document's `limits` entry means |

pub mod rule;
