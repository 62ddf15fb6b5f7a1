//! Where Envoy enters the module. The build exports these functions in place of the SDK's of the same callbacks.
//!
//! Envoy announces no stream here and buries none: two calls that every request would pay for (see [`streams`]). So
//! the plugin's own context, on which the clock, callouts and the log call, is made with its configuration.
#![allow(unsafe_code, reason = "exports, and the SDK's own that they stand in for")]

use crate::{redirects, streams};

unsafe extern "C" {
    safe fn proxy_on_context_create(context: u32, root: u32);
    safe fn proxy_on_configure(root: u32, size: usize) -> bool;
}

#[unsafe(no_mangle)]
extern "C" fn enter_configure(root: u32, size: usize) -> bool {
    proxy_on_context_create(root, 0);
    proxy_on_configure(root, size)
}

#[unsafe(no_mangle)]
extern "C" fn enter_request_headers(stream: u32, _: usize, whole: bool) -> u32 {
    streams::request_headers(stream, whole) as u32
}

#[unsafe(no_mangle)]
extern "C" fn enter_request_body(stream: u32, size: usize, whole: bool) -> u32 {
    streams::request_body(stream, size, whole) as u32
}

#[unsafe(no_mangle)]
extern "C" fn enter_request_trailers(stream: u32, _: usize) -> u32 {
    streams::request_body(stream, 0, true) as u32
}

/// The VM behind the router is entered for nothing else, and never configured.
#[unsafe(no_mangle)]
extern "C" fn enter_response_headers(stream: u32, _: usize, _: bool) -> u32 {
    let action = streams::response_headers(stream).unwrap_or_else(redirects::judge);
    action as u32
}
