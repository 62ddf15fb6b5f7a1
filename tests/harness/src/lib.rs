//! The proof of messageweave-lb: one corpus of data files (`tests/cases`), mock https origins that
//! play what a case scripts, a client that sends exact bytes, and the drivers that run every case.
//!
//! ```text
//!  tests/cases/**/*.toml ──> case ──> driver ──┬── bare       policy alone, virtual clock, simulated network
//!                                              └── component  host process, real TLS sockets: client + origin
//!                                      check <─┘   one comparison for all drivers
//! ```
//!
//! The format of a case is described in `tests/cases/README.md`; `case` is its parser.

pub mod case;
pub mod chaos;
pub mod check;
pub mod client;
pub mod corpus;
pub mod driver;
pub mod envoy;
pub mod evidence;
pub mod load;
pub mod origin;
pub mod schema;
