//! What a client may ask of a host, native or Envoy, unless a flag says otherwise.

/// Request head, in bytes.
pub(crate) const HEAD_BYTES: u32 = 65_536;
/// Fields of a request head.
pub(crate) const HEAD_FIELDS: u32 = 100;
/// Time for the TLS handshake, and then for a request head, in ms.
pub(crate) const HEAD_TIMEOUT_MS: u64 = 10_000;
/// Time that a kept-alive connection may stay idle between requests, in ms.
pub(crate) const IDLE_TIMEOUT_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    #[test]
    fn envoy_has_the_limits_that_serve_has_by_default() {
        let arguments = Arguments::try_parse_from(["messageweave-lb", "serve"]).unwrap();
        let Command::Serve(serve) = arguments.command else { panic!() };
        assert_eq!(serve.limits.max_head_bytes, HEAD_BYTES);
        assert_eq!(serve.limits.max_head_fields, HEAD_FIELDS);
        assert_eq!(serve.limits.head_timeout_ms.get(), HEAD_TIMEOUT_MS);
        assert_eq!(serve.limits.idle_timeout_ms.get(), IDLE_TIMEOUT_MS);
    }
}
