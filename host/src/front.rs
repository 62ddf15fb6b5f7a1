//! The host's own judgements in front of the component: it alone sees the target, the framing and
//! Host as they were sent, so it alone can tell a missing, repeated or malformed Host (contract 2.2),
//! by the policy's function.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, TRANSFER_ENCODING,
};
use http::uri::{Authority as UriAuthority, Scheme as UriScheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use messageweave_lb::policy::authority::{Authority, MalformedHost};
use messageweave_lb::policy::reply::Reply;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

use crate::arguments::Limits;
use crate::instance::{Instances, RequestBody, ResponseBody};

/// Answers one request, by the component unless the host has to refuse it.
pub(crate) async fn respond(
    instances: Arc<Instances>,
    scheme: Scheme,
    limits: &Limits,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let mut request = RequestBody::of(request);
    join_cookies(&mut request);
    if is_over_limits(&request, limits) {
        return plain(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "request head too large");
    }
    if !has_known_coding(&request) {
        return last(plain(StatusCode::NOT_IMPLEMENTED, "transfer coding not implemented"));
    }
    if !has_sound_target(&request) {
        return plain(StatusCode::BAD_REQUEST, "malformed target");
    }
    if judge_host(&request).is_err() {
        return of_policy(Reply::malformed_host());
    }
    match instances.answer(scheme, request).await {
        Ok(response) => response,
        Err(fault) => plain(StatusCode::INTERNAL_SERVER_ERROR, &fault.to_string()),
    }
}

/// The exact limits: hyper's own are those of its buffer, and h2 has none on the number of fields.
/// Counts as HTTP/1.1 writes a head, line by line: a cookie in crumbs is one.
fn is_over_limits<B>(request: &Request<B>, limits: &Limits) -> bool {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let size = request.method().as_str().len() + target + fields.sum::<usize>();
    let exceeds = |count: usize, limit: u32| u32::try_from(count).map_or(true, |count| count > limit);
    exceeds(size, limits.max_head_bytes) || exceeds(request.headers().len(), limits.max_head_fields)
}

/// hyper undoes `chunked` alone; what another coding left of the content must not pass for the
/// content itself (RFC 9112 section 6.1 asks for 501), nor what follows it for a request. h2 has no such field.
fn has_known_coding<B>(request: &Request<B>) -> bool {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        _ if request.version() >= Version::HTTP_2 => true,
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// A target that is neither a path, nor absolute in http or https, nor `*` is of the authority form,
/// which belongs to CONNECT (RFC 9112 section 3.2.3): `http::Uri` reads `GET api HTTP/1.1` as one.
fn has_sound_target<B>(request: &Request<B>) -> bool {
    let target = request.uri();
    match target.scheme() {
        Some(scheme) => [UriScheme::HTTP, UriScheme::HTTPS].contains(scheme),
        None => target.authority().is_none() || request.method() == Method::CONNECT,
    }
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

/// An h2 client may split `cookie` into crumbs; outside h2 they are one line again (RFC 9113 section
/// 8.2.3). HTTP/1.1 has no crumbs: what came in two lines stays two.
fn join_cookies<B>(request: &mut Request<B>) {
    let crumbs = request.headers().get_all(COOKIE).iter();
    let crumbs: Vec<_> = crumbs.map(HeaderValue::as_bytes).collect();
    if request.version() < Version::HTTP_2 || crumbs.len() < 2 {
        return;
    }
    if let Ok(line) = HeaderValue::from_bytes(&crumbs.join(b"; ".as_slice())) {
        request.headers_mut().insert(COOKIE, line);
    }
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

/// The answer to a request whose body is known to be malformed when its head has been read. Nothing that
/// follows is a request.
pub(crate) fn malformed_body() -> Response<ResponseBody> {
    last(of_policy(Reply::broken_body()))
}

/// The last answer on its connection (HTTP/1).
fn last(mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The answer to a request that waited in vain for an instance.
pub(crate) fn no_instance() -> Response<ResponseBody> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "no instance is free")
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

    #[test]
    fn only_the_crumbs_of_an_h2_client_become_one_line() {
        let cookies = |version| {
            let mut request = request(version, "/", &[b"a.example"]);
            for crumb in ["a=1", "b=2"] {
                request.headers_mut().append(COOKIE, HeaderValue::from_static(crumb));
            }
            join_cookies(&mut request);
            let lines = request.headers().get_all(COOKIE).iter();
            lines.map(|line| line.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(cookies(Version::HTTP_2), ["a=1; b=2"]);
        assert_eq!(cookies(Version::HTTP_11), ["a=1", "b=2"]);
    }

    #[test]
    fn only_connect_may_name_an_authority_alone() {
        let judge = |method: &Method, target| {
            let mut request = request(Version::HTTP_11, target, &[b"a.example"]);
            *request.method_mut() = method.clone();
            has_sound_target(&request)
        };
        for target in ["/", "*", "http://a.example/x", "https://a.example/x", "//a.example/x"] {
            assert!(judge(&Method::GET, target), "{target}");
        }
        for target in ["api", "a.example:443", "ftp://a.example/x"] {
            assert!(!judge(&Method::GET, target), "{target}");
        }
        assert!(judge(&Method::CONNECT, "a.example:443"));
    }
}
