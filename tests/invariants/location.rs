//! The redirect rule over any `location` (contract 2.7, Fetch standard). The first three bytes of
//! an input choose status, request and where it went; the rest is the field's value.

use super::draws::Draws;
use super::fence;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::method::Method;
use messageweave_lb::policy::origin::Origin;
use messageweave_lb::policy::redirect::{Hop, Redirected, follow};
use url::{Position, Url};

const STATUSES: [u16; 8] = [301, 302, 303, 307, 308, 300, 304, 200];
const CONFIGURED: [&str; 4] =
    ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9443", "https://[::1]"];

/// What is followed is exactly what the URL standard resolves, passes the fence, and leaks nothing.
pub(crate) fn check(data: &[u8]) {
    let mut draws = Draws::new(data);
    let status = draws.pick(&STATUSES);
    let configured: Vec<_> = CONFIGURED.iter().map(|text| Origin::parse(text).unwrap()).collect();
    let elsewhere = Origin::parse("https://elsewhere.example").unwrap();
    let shape = draws.byte();
    let method = draws.pick(&Method::ALL);
    let location = draws.rest();
    let headers = fields();
    let request = Redirected {
        origin: configured.get(usize::from(shape >> 2 & 7)).unwrap_or(&elsewhere),
        path_with_query: if shape & 32 == 0 { "/ready?a=1" } else { "/a/b/../c" },
        method,
        headers: &headers,
        body: shape & 1 == 1 && method.carries_body(),
        replayable: shape & 2 == 2,
    };
    let response = Headers::new(vec![("Location".to_owned(), location.to_vec())]);
    let hop = follow(status, &response, request, &configured);
    match &hop {
        Some(hop) => assert_followed(hop, status, location, request, &configured),
        None => assert_passed_on(status, location, request),
    }
    let twice = Headers::new([response.into_vec(), vec![("location".to_owned(), b"/x".to_vec())]].concat());
    assert_eq!(follow(status, &twice, request, &configured), None, "two locations are none");
}

fn fields() -> Headers {
    Headers::from([
        ("accept", "*/*"),
        ("authorization", "Bearer x"),
        ("content-length", "3"),
        ("content-type", "text/plain"),
        ("cookie", "a=b"),
        ("if-match", "\"1\""),
        ("proxy-authorization", "x"),
        ("x-telegram-bot-api-secret-token", "s"),
    ])
}

fn assert_followed(hop: &Hop, status: u16, location: &[u8], request: Redirected<'_>, configured: &[Origin]) {
    assert!(matches!(status, 301 | 302 | 303 | 307 | 308));
    let to = hop.target.origin();
    fence::assert_passable(to, configured);
    fence::assert_travels(request.origin, to, &hop.headers, hop.body, configured);

    let path = hop.target.path_with_query();
    assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
    let text = std::str::from_utf8(location).expect("only text is followed");
    assert!(!text.contains(['\\', '\t', '\r', '\n', '\0']), "{text:?} was repaired");
    let resolved = resolve(text, request).expect("what is followed resolves");
    assert_eq!(resolved.scheme(), "https");
    assert!(resolved.username().is_empty() && resolved.password().is_none());
    assert_eq!(path, &resolved[Position::BeforePath..Position::AfterQuery]);
    assert_eq!(
        Url::parse(&[to.as_str(), path].concat()).expect("a URL").path(),
        resolved.path(),
        "what is sent is where it leads"
    );

    let becomes_get = becomes_get(status, request.method);
    assert_eq!(hop.method, if becomes_get { Method::Get } else { request.method });
    assert_eq!(hop.body, request.body && hop.method == request.method);
    assert!(!hop.body || request.replayable);
    let content = hop.headers.as_slice().iter().any(|(name, _)| name.starts_with("content-"));
    assert!(!content || hop.method == request.method);
    let kept = hop.headers.as_slice().iter().all(|field| request.headers.as_slice().contains(field));
    assert!(kept, "a hop adds no field");
}

/// A plain path on the same origin is always followed, unless the body would be lost.
fn assert_passed_on(status: u16, location: &[u8], request: Redirected<'_>) {
    let plain = location
        .split_first()
        .is_some_and(|(first, rest)| *first == b'/' && rest.iter().all(|byte| byte.is_ascii_alphanumeric()));
    let becomes_get = becomes_get(status, request.method);
    let loses_body = request.body && !becomes_get;
    assert!(!(plain && matches!(status, 301..=303 | 307 | 308) && !loses_body), "{location:?} not followed");
}

fn resolve(location: &str, request: Redirected<'_>) -> Option<Url> {
    let current = Url::parse(&[request.origin.as_str(), request.path_with_query].concat()).ok()?;
    current.join(location).ok()
}

/// Fetch standard, HTTP-redirect fetch: 303 makes a GET of all but HEAD, 301 and 302 of POST alone.
fn becomes_get(status: u16, method: Method) -> bool {
    (status == 303 && method != Method::Head) || (status < 303 && method == Method::Post)
}
