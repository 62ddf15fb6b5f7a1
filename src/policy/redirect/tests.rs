use super::*;

fn origins() -> Vec<Origin> {
    let texts = ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9443"];
    texts.iter().map(|text| Origin::parse(text).unwrap()).collect()
}

fn hop_from(method: Method, status: u16, to: &str) -> Option<Hop> {
    let headers = Headers::from([
        ("authorization", "Bearer x"),
        ("cookie", "a=b"),
        ("content-type", "text/plain"),
        ("content-length", "3"),
        ("accept", "*/*"),
        ("if-none-match", "\"1\""),
        ("x-telegram-bot-api-secret-token", "s"),
    ]);
    let origins = origins();
    let request = Redirected {
        origin: &origins[0],
        path_with_query: "/ready?a=1",
        method,
        headers: &headers,
        body: method.carries_body(),
        replayable: true,
    };
    follow(status, &Headers::from([("location", to)]), request, &origins)
}

fn bare<'a>(origin: &'a Origin, headers: &'a Headers, method: Method) -> Redirected<'a> {
    Redirected { origin, path_with_query: "/", method, headers, body: false, replayable: true }
}

fn url(to: &str) -> Option<String> {
    let hop = hop_from(Method::Get, 307, to)?;
    Some([hop.target.origin().as_str(), hop.target.path_with_query()].concat())
}

#[test]
fn a_location_is_resolved_against_the_current_url() {
    let cases = [
        ("/x", "https://a.example/x"),
        ("x?y#z", "https://a.example/x?y"),
        ("?b=2", "https://a.example/ready?b=2"),
        ("//b.example:8443/x", "https://b.example:8443/x"),
        ("https://c.example./x", "https://c.example/x"),
        ("HTTPS://C.example:443", "https://c.example/"),
        ("/a/../b", "https://a.example/b"),
        ("https://127.0.0.1:9443/", "https://127.0.0.1:9443/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://100.63.255.255/", "https://100.63.255.255/"),
        ("https://100.128.0.0/", "https://100.128.0.0/"),
        ("/p%C3%A9 q", "https://a.example/p%C3%A9%20q"),
        ("/x/@y", "https://a.example/x/@y"),
        ("x@y", "https://a.example/x@y"),
        ("https:@y", "https://a.example/@y"),
        ("://@y", "https://a.example/://@y"),
        ("1a://@y", "https://a.example/1a://@y"),
        ("//b.example:8443/@x?@#@", "https://b.example:8443/@x?@"),
        ("https://c.example?@", "https://c.example/?@"),
    ];
    for (to, expected) in cases {
        assert_eq!(url(to).as_deref(), Some(expected), "{to:?}");
    }
}

#[test]
fn what_must_not_be_followed_is_not() {
    let cases = [
        "",
        "http://a.example/",
        "ftp://a.example/",
        "https://u:p@c.example/",
        "https://u@c.example/",
        "https://@c.example/",
        "https://:@c.example/",
        "//@b.example:8443/x",
        "https:///@b.example:8443/x",
        "HTTPS://@b.example:8443?x",
        "https://localhost/",
        "https://10.1.2.3/",
        "https://[::1]/",
        "https://a!b.example/",
        "https://*.example/",
        "https://c.example\\@d.example/",
        "/a\\b",
        "https://c.exa\tmple/",
        "https://c.example:0/",
        "https://c.example:99999/",
        "https://",
        "javascript:1",
    ];
    for to in cases {
        assert_eq!(url(to), None, "{to:?}");
    }
}

#[test]
fn a_location_that_no_host_could_send_is_not_usable() {
    let path = |length: usize| format!("/{}", "a".repeat(length - "https://a.example/".len()));
    assert!(hop_from(Method::Get, 302, &path(MAX_TARGET)).is_some());
    assert_eq!(hop_from(Method::Get, 302, &path(MAX_TARGET + 1)), None);
    assert_eq!(hop_from(Method::Get, 302, &format!("https://{}.example/", "a".repeat(64))), None);
}

#[test]
fn a_missing_or_repeated_location_is_not_usable() {
    let (origins, headers) = (origins(), Headers::default());
    let request = bare(&origins[0], &headers, Method::Get);
    let twice = Headers::from([("location", "/a"), ("location", "/b")]);
    assert_eq!(follow(302, &twice, request, &origins), None);
    assert_eq!(follow(302, &Headers::default(), request, &origins), None);
    let not_utf8 = Headers::new(vec![("location".to_owned(), b"/\xff".to_vec())]);
    assert_eq!(follow(302, &not_utf8, request, &origins), None);
}

#[test]
fn the_method_and_the_body_change_as_in_the_fetch_standard() {
    use Method::{Delete, Get, Head, Options, Patch, Post, Put};
    let cases = [
        (Post, 301, Get, false),
        (Post, 302, Get, false),
        (Post, 303, Get, false),
        (Post, 307, Post, true),
        (Post, 308, Post, true),
        (Put, 301, Put, true),
        (Put, 302, Put, true),
        (Put, 303, Get, false),
        (Get, 301, Get, false),
        (Get, 303, Get, false),
        (Get, 308, Get, false),
        (Head, 301, Head, false),
        (Head, 303, Head, false),
        (Head, 307, Head, false),
        (Patch, 302, Patch, true),
        (Patch, 303, Get, false),
        (Delete, 301, Delete, true),
        (Delete, 303, Get, false),
        (Options, 302, Options, true),
        (Options, 308, Options, true),
    ];
    for (method, status, then, body) in cases {
        let hop = hop_from(method, status, "/x").unwrap();
        assert_eq!((hop.method, hop.body), (then, body), "{method} {status}");
        let content = hop.headers.first("content-type").is_some();
        assert_eq!(content, method == then, "{method} {status}");
    }
    for status in [300, 304, 305, 306, 200, 399] {
        assert_eq!(hop_from(Get, status, "/x"), None, "{status}");
    }
}

#[test]
fn credentials_stay_at_their_origin() {
    let same = hop_from(Method::Get, 302, "/x").unwrap();
    assert!(same.headers.first("authorization").is_some());
    let other = hop_from(Method::Get, 302, "https://b.example:8443/").unwrap();
    for name in CREDENTIALS {
        assert_eq!(other.headers.first(name), None);
    }
    assert!(other.headers.first("x-telegram-bot-api-secret-token").is_some());
}

#[test]
fn a_host_that_is_not_configured_gets_no_body_and_no_private_field() {
    assert_eq!(hop_from(Method::Post, 307, "https://c.example/"), None);
    let hop = hop_from(Method::Post, 303, "https://c.example/").unwrap();
    let names: Vec<_> = hop.headers.as_slice().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept", "if-none-match"]);
}

#[test]
fn a_host_that_stays_with_the_configured_origins_follows_only_to_them() {
    let (origins, headers) = (origins(), Headers::default());
    let request = bare(&origins[0], &headers, Method::Get);
    let to = |location| {
        let response = Headers::from([("location", location)]);
        follow_configured(302, &response, request, &origins).is_some()
    };
    assert!(to("/x") && to("https://b.example:8443/x"));
    assert!(!to("https://b.example/x") && !to("https://c.example/x"));
}

#[test]
fn a_body_that_cannot_be_replayed_makes_the_redirect_the_answer() {
    let (origins, headers) = (origins(), Headers::default());
    let request = Redirected { body: true, replayable: false, ..bare(&origins[0], &headers, Method::Post) };
    let response = Headers::from([("location", "/x")]);
    assert_eq!(follow(307, &response, request, &origins), None);
    assert!(follow(303, &response, request, &origins).is_some());
}
