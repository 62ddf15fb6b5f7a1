//! The policy: pure rules, no clock, no randomness, no environment, no I/O. One file per rule.
//!
//! | file | rule |
//! |---|---|
//! | [`admission`] | the order of decisions: 400, 308, health view, 404, 405, 503, forward |
//! | [`authority`] | one well-formed Host |
//! | [`upgrade`] | whether a request arrived over https |
//! | [`routes`], [`route`], [`method`] | routes as data: which path and method go on, and as what |
//! | [`fence`] | which paths that a client spelt may go on |
//! | [`safelist`] | the built-in routes |
//! | [`document`], [`json`] | the policy document of an operator |
//! | [`settings`], [`number`], [`origin`], [`config_error`] | the configuration and its errors |
//! | [`limit`] | the edge rate limiter |
//! | [`plan`] | which origins, in which order, how often, how long |
//! | [`headers`] | which fields travel |
//! | [`exchange`] | attempts, failover, answer |
//! | [`upload`] | the client's body and its replay copy |
//! | [`replay_room`] | the room for the replay copies of an instance |
//! | [`redirect`], [`hop_host`] | which redirects are followed, and what they take along |
//! | [`failure`] | the closed set of failures and the text of the 503 |
//! | [`health`] | the aggregate health view and its cache |
//! | [`reply`] | the balancer's own answers, word for word |
//! | [`event`], [`log_line`] | what is logged, and its lines |
//! | [`time`] | milliseconds, handed in |

pub mod admission;
pub mod authority;
pub mod config_error;
pub mod document;
pub mod event;
pub mod exchange;
pub mod failure;
pub mod fence;
pub mod headers;
pub mod health;
mod hop_host;
pub mod json;
pub mod limit;
pub mod log_line;
pub mod method;
pub mod number;
pub mod origin;
pub mod plan;
pub mod redirect;
pub mod replay_room;
pub mod reply;
pub mod route;
pub mod routes;
pub mod safelist;
pub mod settings;
pub mod time;
pub mod upgrade;
pub mod upload;
