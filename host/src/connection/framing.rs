//! Where the bytes of a connection stand: within a head that has begun and not ended, or not. For the
//! clock: what a message is, hyper and h2 say, and here their word is taken for it, but for the framing of
//! chunks, where a reading that is not everybody's is refused.

mod http1;
mod http2;

use http1::Http1;
use http2::Http2;

/// The framing of one connection's incoming bytes.
pub(super) enum Framing {
    Http1(Http1),
    Http2(Http2),
}

/// What follows a head of HTTP/1 (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    None,
    Length(u64),
    Chunked,
}

impl Framing {
    pub(super) fn http1() -> Self {
        Self::Http1(Http1::default())
    }

    pub(super) fn http2() -> Self {
        Self::Http2(Http2::default())
    }

    /// Follows bytes that came in. Says whether something that had begun ended in them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        match self {
            Self::Http1(http1) => {
                http1.take(bytes);
                false
            }
            Self::Http2(http2) => http2.take(bytes),
        }
    }

    /// What follows could be read in more than one way. h2 says so itself.
    pub(super) fn is_malformed(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.is_malformed(),
            Self::Http2(_) => false,
        }
    }

    /// hyper has read the next head.
    pub(super) fn head_was_read(&mut self, content: Content) {
        if let Self::Http1(http1) = self {
            http1.head_was_read(content);
        }
    }
}
