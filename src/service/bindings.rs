//! What `wit-bindgen` makes of the world in `wit/p3/`.
#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: "wit/p3",
    world: "messageweave:lb/service",
    generate_all,
});

use super::Balancer;
export!(Balancer with_types_in self);
