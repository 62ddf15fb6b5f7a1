//! The policy's words in those of `wasi:http` 0.3.

crate::wasi::translation!(super::bindings::wasi::http::types, copy_all, Request, Response);
