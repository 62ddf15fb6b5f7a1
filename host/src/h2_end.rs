//! Whether an h2 message came to its end.
//!
//! RFC 9113 section 8.1: END_STREAM ends a message, RST_STREAM cuts it. hyper ends a body cleanly at
//! a reset with NO_ERROR too, wherever it comes, so its word alone is not enough. HTTP/1 bodies end
//! by their framing, which hyper checks.

use http::Version;
use http_body::Body;
use hyper::body::Incoming;

/// Whether the end that hyper tells of is the message's own: END_STREAM came, or every byte of
/// content-length did.
pub(crate) fn is_true(version: Version, body: &Incoming) -> bool {
    version < Version::HTTP_2 || body.is_end_stream() || body.size_hint().exact() == Some(0)
}
