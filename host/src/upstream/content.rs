//! Whether a request has content, found out before its head is written.
//!
//! RFC 9112 section 6.3: a request with neither content-length nor transfer-encoding has none. A
//! component of the 0.3 world hands over a body whose end is not in sight yet even where there is
//! none, and such a body would be framed: chunked on HTTP/1.1, an empty DATA frame on h2.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty};
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

/// Waits for the first bytes of a body without a length; a body that ends without any is none.
pub(super) async fn settle(request: Request<WasiBody>) -> Result<Request<WasiBody>, WasiError> {
    let (head, mut body) = request.into_parts();
    let body = match head.headers.get(CONTENT_LENGTH).map(|length| length.as_bytes()) {
        Some(b"0") => none(),
        Some(_) => body,
        None if body.is_end_stream() => body,
        None => match body.frame().await {
            None => none(),
            Some(first) => Begun { first: Some(first?), rest: body }.boxed_unsync(),
        },
    };
    Ok(Request::from_parts(head, body))
}

fn none() -> WasiBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body whose first frame was taken already.
struct Begun {
    first: Option<Frame<Bytes>>,
    rest: WasiBody,
}

impl Body for Begun {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.first {
            // Whatever the rest knows of itself, the first frame is more.
            Some(_) => SizeHint::default(),
            None => self.rest.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::StreamBody;

    use super::*;

    /// A body that does not know its end beforehand.
    fn request(length: Option<&str>, chunks: &'static [&str]) -> Request<WasiBody> {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))));
        let body = StreamBody::new(stream::iter(frames)).boxed_unsync();
        let mut request = Request::new(body);
        if let Some(length) = length {
            request.headers_mut().insert(CONTENT_LENGTH, length.parse().unwrap());
        }
        request
    }

    #[tokio::test]
    async fn a_body_without_a_byte_is_none() {
        for length in [None, Some("0")] {
            assert!(settle(request(length, &[])).await.unwrap().body().is_end_stream(), "{length:?}");
        }
    }

    #[tokio::test]
    async fn a_body_keeps_every_byte() {
        for length in [None, Some("6")] {
            let body = settle(request(length, &["abc", "def"])).await.unwrap().into_body();
            assert!(!body.is_end_stream());
            assert_eq!(body.collect().await.unwrap().to_bytes(), "abcdef");
        }
    }
}
