//! What must hold for any input at all, each as one function over bytes. The property tests and the
//! fuzz targets run the very same functions.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a panic is how it reports"
)]

mod client_address;
mod draws;
mod exchange;
mod fence;
mod ledger;
mod limit;
mod location;
mod origin;
mod path;
mod policy;
mod request_head;
mod shell;
mod whatwg_location;
mod whatwg_origin;

pub(crate) use client_address::check as client_address;
pub(crate) use exchange::check as exchange;
pub(crate) use limit::check as limit;
pub(crate) use location::check as location;
pub(crate) use origin::check as origin;
pub(crate) use policy::check as policy;
pub(crate) use request_head::check as request_head;
pub(crate) use whatwg_location::{Difference as LocationDifference, check as whatwg_location};
pub(crate) use whatwg_origin::{Difference as OriginDifference, check as whatwg_origin};
