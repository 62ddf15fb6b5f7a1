//! Where Envoy enters the module for the head of an answer.
//!
//! The VM behind the router is entered for nothing else: it has no contexts, because to make and to
//! delete one for each try would cost every request two calls, and only redirects need any. Everywhere
//! else the call is for a context of the SDK. The build exports this function in place of the SDK's.
#![allow(unsafe_code, reason = "an export, and the SDK's own that it stands in for")]

use crate::{plugin, redirects};

unsafe extern "C" {
    safe fn proxy_on_response_headers(context: u32, fields: usize, whole: bool) -> u32;
}

#[unsafe(no_mangle)]
extern "C" fn enter_response_headers(context: u32, fields: usize, whole: bool) -> u32 {
    if plugin::has_contexts() {
        return proxy_on_response_headers(context, fields, whole);
    }
    redirects::judge() as u32
}
