//! Towards the origins: https only, pooled, HTTP/1.1 and h2 by ALPN, with failures told apart.

mod body;
mod client;
mod connector;
mod content;
mod failure;
mod resolve;
mod socket;
mod tls;
mod upload;

pub(crate) use client::Upstream;
pub(crate) use failure::class_of_cut;
pub(crate) use resolve::{Route, Routes};
pub(crate) use tls::{anchors, trust};
