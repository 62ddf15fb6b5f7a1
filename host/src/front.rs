//! The host's own judgements in front of the component: it alone sees Host as it was sent, so it
//! alone can tell a missing, repeated or malformed one (contract 2.2), by the policy's function.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::uri::Authority as UriAuthority;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use messageweave_lb::policy::authority::{Authority, MalformedHost};
use messageweave_lb::policy::reply::Reply;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

use crate::arguments::Limits;
use crate::instance::{self, Pool, RequestBody, ResponseBody};

/// Answers one request, by the component unless the host has to refuse it.
pub(crate) async fn respond(
    pool: Arc<Pool>,
    scheme: Scheme,
    limits: &Limits,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let request = RequestBody::of(request);
    if is_over_limits(&request, limits) {
        return plain(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "request head too large");
    }
    if judge_host(&request).is_err() {
        return of_policy(Reply::malformed_host());
    }
    match instance::answer(pool, scheme, request).await {
        Ok(response) => response,
        Err(fault) => plain(StatusCode::INTERNAL_SERVER_ERROR, &fault.to_string()),
    }
}

/// The exact limits: hyper's own are those of its buffer, and h2 has none on the number of fields.
/// Counts as HTTP/1.1 writes a head, line by line.
fn is_over_limits<B>(request: &Request<B>, limits: &Limits) -> bool {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let size = request.method().as_str().len() + target + fields.sum::<usize>();
    let exceeds = |count: usize, limit: u32| u32::try_from(count).map_or(true, |count| count > limit);
    exceeds(size, limits.max_head_bytes) || exceeds(request.headers().len(), limits.max_head_fields)
}

/// HTTP/1 has to carry Host even when the target is in absolute form (RFC 9112 section 3.2);
/// h2 may have `:authority` alone (RFC 9113 section 8.3.1).
fn judge_host<B>(request: &Request<B>) -> Result<(), MalformedHost> {
    let target = request.uri().authority().map(UriAuthority::as_str);
    let hosts: Vec<&[u8]> = request.headers().get_all(HOST).iter().map(HeaderValue::as_bytes).collect();
    if hosts.is_empty() && request.version() < Version::HTTP_2 {
        return Err(MalformedHost);
    }
    Authority::of_request(target.map(str::as_bytes), &hosts).map(drop)
}

/// An answer of the policy that the host has to give in its place.
fn of_policy(reply: Reply) -> Response<ResponseBody> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_REQUEST);
    let fields = reply.headers.into_iter().filter_map(|(name, value)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    });
    let headers: HeaderMap = fields.collect();
    whole(status, headers, reply.body.into())
}

/// An answer of the host itself, in the dress of the policy's local replies (contract 2.1).
fn plain(status: StatusCode, text: &str) -> Response<ResponseBody> {
    let headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_LENGTH, HeaderValue::from(text.len())),
    ]);
    whole(status, headers, Bytes::copy_from_slice(text.as_bytes()))
}

fn whole(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(Full::new(body)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, target: &str, hosts: &[&[u8]]) -> Request<()> {
        let mut request = Request::new(());
        *request.version_mut() = version;
        *request.uri_mut() = target.parse().unwrap();
        for host in hosts {
            request.headers_mut().append(HOST, HeaderValue::from_bytes(host).unwrap());
        }
        request
    }

    #[test]
    fn http1_needs_exactly_one_well_formed_host() {
        let judge = |target, hosts: &[&[u8]]| judge_host(&request(Version::HTTP_11, target, hosts));
        assert_eq!(judge("/", &[b"a.example"]), Ok(()));
        assert_eq!(judge("/", &[]), Err(MalformedHost));
        assert_eq!(judge("http://a.example/", &[]), Err(MalformedHost));
        assert_eq!(judge("/", &[b"a.example", b"a.example"]), Err(MalformedHost));
        assert_eq!(judge("/", &[b"a.example/x"]), Err(MalformedHost));
        assert_eq!(judge("/", &[b"\xff\xfe"]), Err(MalformedHost));
    }

    #[test]
    fn h2_may_leave_host_to_its_pseudo_header() {
        let judge = |target, hosts: &[&[u8]]| judge_host(&request(Version::HTTP_2, target, hosts));
        assert_eq!(judge("https://a.example/", &[]), Ok(()));
        assert_eq!(judge("/", &[b"a.example"]), Ok(()));
        assert_eq!(judge("/", &[]), Err(MalformedHost));
    }
}
