//! What a client may ask of a host, native or Envoy, unless a flag says otherwise.

/// Request head, in bytes.
pub(crate) const HEAD_BYTES: u32 = 65_536;
/// Fields of a request head.
pub(crate) const HEAD_FIELDS: u32 = 100;
/// Time for the TLS handshake, and then for a request head, in ms.
pub(crate) const HEAD_TIMEOUT_MS: u64 = 10_000;
/// Time that a kept-alive connection may stay idle between requests, in ms.
pub(crate) const IDLE_TIMEOUT_MS: u64 = 60_000;
