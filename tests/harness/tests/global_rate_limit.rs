//! The example of an exact limit over all instances: what it adds to a rendered configuration, in a real
//! Envoy, in front of a rate limit service that counts by the example's own limits.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "the helpers of tests are tests")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use messageweave_lb_harness::envoy::{Envoy, free, render};
use messageweave_lb_harness::load::answers;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

const ADDITIONS: &str = include_str!("../../../examples/envoy-global-rate-limit.yaml");
const LIMITS: &str = include_str!("../../../examples/envoy-global-rate-limit-service.yaml");
const DOCUMENT: &str = include_str!("../../../examples/limits.jsonc");

type Entries = Vec<(String, String)>;

/// Counts every list of entries, and refuses above what the limits say of it.
struct Service {
    limits: Value,
    counts: Mutex<HashMap<Entries, u64>>,
}

impl Service {
    fn start(listener: TcpListener) {
        let service =
            Arc::new(Self { limits: yaml_serde::from_str(LIMITS).unwrap(), counts: Mutex::default() });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&service).serve(stream));
            }
        });
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let service = Arc::clone(&self);
            tokio::spawn(async move {
                let mut body = request.into_body();
                let mut message = BytesMut::new();
                while let Some(Ok(chunk)) = body.data().await {
                    let _ = body.flow_control().release_capacity(chunk.len());
                    message.extend_from_slice(&chunk);
                }
                // gRPC: a flag and a length stand before the message.
                let is_over = service.is_over(&message[5..]);
                let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
                let mut stream = respond.send_response(head, false).unwrap();
                stream.send_data(verdict(is_over), false).unwrap();
                let trailers = HeaderMap::from_iter([(
                    http::HeaderName::from_static("grpc-status"),
                    HeaderValue::from_static("0"),
                )]);
                stream.send_trailers(trailers).unwrap();
            });
        }
    }

    /// `envoy.service.ratelimit.v3.RateLimitRequest`: the domain, and descriptors of entries.
    fn is_over(&self, request: &[u8]) -> bool {
        let fields = fields(request);
        assert_eq!(texts(&fields, 1), [self.limits["domain"].as_str().unwrap()]);
        let descriptors: Vec<Entries> = fields
            .iter()
            .filter(|(number, _)| *number == 2)
            .map(|(_, descriptor)| self::fields(descriptor).iter().map(|(_, entry)| pair(entry)).collect())
            .collect();
        descriptors.into_iter().any(|entries| self.count(entries))
    }

    fn count(&self, entries: Entries) -> bool {
        let limit = limit_of(&self.limits, &entries);
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(entries).or_default();
        *count += 1;
        limit.is_some_and(|limit| *count > limit)
    }
}

/// The limit that stands at the end of the way that the entries lead.
fn limit_of(limits: &Value, entries: &[(String, String)]) -> Option<u64> {
    let mut node = limits;
    for (key, value) in entries {
        node = node["descriptors"].as_array()?.iter().find(|known| {
            known["key"] == **key && known.get("value").is_none_or(|known| known == value.as_str())
        })?;
    }
    node["rate_limit"]["requests_per_unit"].as_u64()
}

/// `RateLimitResponse` with its `overall_code`, as a gRPC message.
fn verdict(is_over: bool) -> Bytes {
    let mut message = BytesMut::new();
    message.put_slice(&[0, 0, 0, 0, 2]);
    message.put_slice(&[0x08, if is_over { 2 } else { 1 }]);
    message.freeze()
}

fn pair(entry: &[u8]) -> (String, String) {
    let fields = fields(entry);
    let text = |number| texts(&fields, number).first().map(ToString::to_string).unwrap_or_default();
    (text(1), text(2))
}

fn texts<'a>(fields: &[(u8, &'a [u8])], wanted: u8) -> Vec<&'a str> {
    let found = fields.iter().filter(|(number, _)| *number == wanted);
    found.map(|(_, text)| std::str::from_utf8(text).unwrap()).collect()
}

/// The length-delimited fields of a protobuf message: these messages are made of nothing else but a
/// number that is left out here.
fn fields(mut message: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [tag, rest @ ..] = message {
        let (length, rest) = varint(rest);
        if tag & 7 == 2 {
            let (field, behind) = rest.split_at(length);
            found.push((tag >> 3, field));
            message = behind;
        } else {
            message = rest;
        }
    }
    found
}

fn varint(bytes: &[u8]) -> (usize, &[u8]) {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let (number, rest) = bytes.split_at(end + 1);
    (number.iter().rev().fold(0, |number, byte| (number << 7) | usize::from(byte & 0x7f)), rest)
}

/// A rendered configuration with what the example adds to it, its service at that address.
fn bootstrap(listen: SocketAddr, service: SocketAddr) -> Value {
    let document: Vec<_> = DOCUMENT.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let flags = ["--listen", &listen.to_string(), "--resolve", "a.example:443=127.0.0.1:9"];
    let variables = [
        ("BACKEND_ORIGINS_JSON", r#"["https://a.example"]"#),
        ("LB_TRUST_FORWARDED_PROTO", "1"),
        // Without the limits in memory, which would count too.
        ("LB_ENV", "dev"),
        ("LB_POLICY_JSON", &document.join("\n")),
    ];
    let mut bootstrap = render(&flags, &variables).unwrap();
    let mut example: Value = yaml_serde::from_str(ADDITIONS).unwrap();
    let manager = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config";
    let added = example.pointer(manager).unwrap().clone();
    let rendered = bootstrap.pointer_mut(manager).unwrap();
    let mut filter = added["http_filters"][0].clone();
    // On a busy machine the service must not be passed over.
    filter["typed_config"]["timeout"] = json!("10s");
    rendered["http_filters"].as_array_mut().unwrap().insert(0, filter);
    rendered["route_config"]["virtual_hosts"][0]["rate_limits"] =
        added["route_config"]["virtual_hosts"][0]["rate_limits"].clone();
    let mut cluster = example["static_resources"]["clusters"][0].take();
    cluster["type"] = json!("STATIC");
    *cluster.pointer_mut("/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address").unwrap() =
        json!({ "socket_address": { "address": service.ip().to_string(), "port_value": service.port() } });
    bootstrap["static_resources"]["clusters"].as_array_mut().unwrap().push(cluster);
    bootstrap
}

/// How many of so many requests go through: there is no backend, so that it is 503 then.
async fn forwarded(address: SocketAddr, count: usize, request: impl Fn(usize) -> String) -> usize {
    let requests: Vec<_> = (0..count).map(request).collect();
    let requests: Vec<_> = requests.iter().map(String::as_str).collect();
    let answers = answers(address, &requests).await;
    assert_eq!(answers.len(), count);
    let of = |status: &str| answers.iter().filter(|answer| answer.starts_with(status)).count();
    assert_eq!(of("HTTP/1.1 503 ") + of("HTTP/1.1 429 "), count, "{answers:?}");
    of("HTTP/1.1 503 ")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_a_global_limit_counts_what_the_presets_say() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (listen, service) = (free().unwrap(), listener.local_addr().unwrap());
    Service::start(listener);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("global-limit-{}", std::process::id()));
    let envoy = Envoy::start(&folder, &bootstrap(listen, service), &["--concurrency", "1"]).unwrap();
    let head = |method: &str, target: &str, field: &str| {
        format!(
            "{method} {target} HTTP/1.1\r\nhost: lb.example\r\nx-forwarded-proto: https\r\n{field}content-length: 0\r\n\r\n"
        )
    };
    // A query makes no other path of it.
    let target = |number: usize, path: &str| {
        if number.is_multiple_of(2) { path.to_owned() } else { format!("{path}?{number}") }
    };
    let sign_in = |number| head("POST", &target(number, "/auth/sign-in"), "");
    assert_eq!(forwarded(listen, 14, sign_in).await, 10, "{}", envoy.log());
    let refresh = |number| head("POST", &target(number, "/auth/refresh"), "");
    assert_eq!(forwarded(listen, 34, refresh).await, 30);
    let api = |user: &'static str| move |number| head("POST", &format!("/api/{number}"), user);
    assert_eq!(forwarded(listen, 124, api("authorization: Bearer a\r\n")).await, 120);
    assert_eq!(forwarded(listen, 124, api("authorization: Bearer b\r\n")).await, 120);
    assert_eq!(forwarded(listen, 124, api("")).await, 120);
    // Everything else is nobody's limit.
    assert_eq!(forwarded(listen, 130, |_| head("GET", "/", "authorization: Bearer a\r\n")).await, 130);
}
