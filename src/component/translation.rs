//! The policy's words in those of `wasi:http` 0.2.

crate::wasi::translation!(super::bindings::wasi::http::types, entries, OutgoingRequest, OutgoingResponse);
