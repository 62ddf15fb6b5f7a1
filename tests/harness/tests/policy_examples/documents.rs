//! Documents that the parser takes, and documents that it refuses, each with the place of its fault.

/// A document with this limit.
macro_rules! limit {
    ($fields:literal) => {
        concat!(r#"{"version":1,"routes":[{"path":"/","methods":["GET"]}],"limits":{"x":{"#, $fields, "}}}")
    };
}

/// Who refuses a bad document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Both,
    /// A schema cannot say it; its description does.
    ParserAlone,
}

pub(crate) const GOOD: &[&str] = &[
    r#"{"version":1,"routes":[{"path":"/","methods":["GET"]}]}"#,
    r#"{"version":1,"routes":[{"prefix":"/","methods":["OPTIONS","DELETE"]}],"limits":{},"max_entries":1000000}"#,
    r#"{"version":1,"routes":[{"path":"/a.b/..c/a%20b;v=1/%E4","methods":["PATCH"],"timeout_ms":2147483647,"attempts":1}]}"#,
    r#"{"version":1,"routes":[{"prefix":"/a/","methods":["HEAD"],"limit":"x"}],"limits":{"x":{"key":"both","limit":1,"window_s":1,"user_header":"X-User","client_address":{"header":"spin-client-addr"},"code":"\u00e9"}}}"#,
    r#"{"version":1,"routes":[{"path":"/a","methods":["GET"]},{"prefix":"/a/","methods":["GET"]}],"limits":{"x":{"key":"ip","limit":1,"window_s":1,"client_address":{"forwarded_for_hops":2}}}}"#,
];

/// Each beside the place that the parser names.
pub(crate) const BAD: &[(&str, &str, By)] = &[
    ("[]", "", By::Both),
    ("{}", ".version", By::Both),
    (r#"{"version":2,"routes":[{"path":"/","methods":["GET"]}]}"#, ".version", By::Both),
    (r#"{"version":"1","routes":[{"path":"/","methods":["GET"]}]}"#, ".version", By::Both),
    (r#"{"version":1}"#, ".routes", By::Both),
    (r#"{"version":1,"routes":[]}"#, ".routes", By::Both),
    (r#"{"version":1,"routes":{}}"#, ".routes", By::Both),
    (r#"{"version":1,"routes":[7]}"#, ".routes[0]", By::Both),
    (r#"{"version":1,"routes":[{"methods":["GET"]}]}"#, ".routes[0]", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","prefix":"/a/","methods":["GET"]}]}"#, ".routes[0]", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"host":"x"}]}"#, ".routes[0]", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["GET"]}],"extra":1}"#, "", By::Both),
    (r#"{"version":1,"routes":[{"path":7,"methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/healthz-worker","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"a","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a/","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a//b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a/..","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a/.;x/b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/;x","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%3bx","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a/..%3B/b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a<b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a`b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a\\b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a?b","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%2fa","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%5Ca","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%2E","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%25","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%0a","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%7f","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"path":"/%z","methods":["GET"]}]}"#, ".routes[0].path", By::Both),
    (r#"{"version":1,"routes":[{"prefix":"/a","methods":["GET"]}]}"#, ".routes[0].prefix", By::Both),
    (r#"{"version":1,"routes":[{"prefix":"a/","methods":["GET"]}]}"#, ".routes[0].prefix", By::Both),
    (r#"{"version":1,"routes":[{"prefix":"/a/../","methods":["GET"]}]}"#, ".routes[0].prefix", By::Both),
    (r#"{"version":1,"routes":[{"prefix":"//","methods":["GET"]}]}"#, ".routes[0].prefix", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a"}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":[]}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":"GET"}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["get"]}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["TRACE"]}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["CONNECT"]}]}"#, ".routes[0].methods", By::Both),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["GET","GET"]}]}"#, ".routes[0].methods", By::Both),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"timeout_ms":0}]}"#,
        ".routes[0].timeout_ms",
        By::Both,
    ),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"timeout_ms":2147483648}]}"#,
        ".routes[0].timeout_ms",
        By::Both,
    ),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"timeout_ms":1.5}]}"#,
        ".routes[0].timeout_ms",
        By::Both,
    ),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"attempts":0}]}"#,
        ".routes[0].attempts",
        By::Both,
    ),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"attempts":-1}]}"#,
        ".routes[0].attempts",
        By::Both,
    ),
    (r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"limit":7}]}"#, ".routes[0].limit", By::Both),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"],"limit":"x"}]}"#,
        ".routes[0].limit",
        By::ParserAlone,
    ),
    (
        r#"{"version":1,"routes":[{"path":"/a","methods":["GET"]},{"path":"/a","methods":["PUT"]}]}"#,
        ".routes[1].path",
        By::ParserAlone,
    ),
    (
        r#"{"version":1,"routes":[{"prefix":"/a/","methods":["GET"]},{"prefix":"/a/","methods":["PUT"]}]}"#,
        ".routes[1].prefix",
        By::ParserAlone,
    ),
    (r#"{"version":1,"version":1,"routes":[{"path":"/a","methods":["GET"]}]}"#, ".version", By::ParserAlone),
    (r#"{"version":1,"routes":[{"path":"/","methods":["GET"]}],"max_entries":0}"#, ".max_entries", By::Both),
    (r#"{"version":1,"routes":[{"path":"/","methods":["GET"]}],"limits":[]}"#, ".limits", By::Both),
    (
        r#"{"version":1,"routes":[{"path":"/","methods":["GET"]}],"limits":{"a b":{"key":"ip","limit":1,"window_s":1}}}"#,
        ".limits[0]",
        By::Both,
    ),
    (limit!(r#""limit":1,"window_s":1"#), ".limits.x.key", By::Both),
    (limit!(r#""key":"peer","limit":1,"window_s":1"#), ".limits.x.key", By::Both),
    (limit!(r#""key":"ip","window_s":1"#), ".limits.x.limit", By::Both),
    (limit!(r#""key":"ip","limit":1"#), ".limits.x.window_s", By::Both),
    (limit!(r#""key":"ip","limit":0,"window_s":1"#), ".limits.x.limit", By::Both),
    (limit!(r#""key":"ip","limit":1,"window_s":0"#), ".limits.x.window_s", By::Both),
    (limit!(r#""key":"ip","limit":1,"window_s":1,"user_header":"a b""#), ".limits.x.user_header", By::Both),
    (limit!(r#""key":"ip","limit":1,"window_s":1,"user_header":"Host""#), ".limits.x.user_header", By::Both),
    (
        limit!(r#""key":"ip","limit":1,"window_s":1,"client_address":{"header":"TE"}"#),
        ".limits.x.client_address.header",
        By::Both,
    ),
    (
        limit!(r#""key":"ip","limit":1,"window_s":1,"client_address":{}"#),
        ".limits.x.client_address",
        By::Both,
    ),
    (
        limit!(r#""key":"ip","limit":1,"window_s":1,"client_address":{"header":"a","forwarded_for_hops":1}"#),
        ".limits.x.client_address",
        By::Both,
    ),
    (
        limit!(r#""key":"ip","limit":1,"window_s":1,"client_address":{"forwarded_for_hops":0}"#),
        ".limits.x.client_address.forwarded_for_hops",
        By::Both,
    ),
    (limit!(r#""key":"ip","limit":1,"window_s":1,"code":"""#), ".limits.x.code", By::Both),
];
