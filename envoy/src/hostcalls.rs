//! Everything that the module asks of its host, in one file: results instead of panics, bytes
//! instead of text, and the one place to count calls.
//!
//! The crate's own wrappers panic on a status that they do not expect, and a panic costs a VM; so
//! each call here is made only where Envoy is known to allow it.

use messageweave_lb::policy::headers::{Field, Headers};
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::time::Millis;
use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, LogLevel, MapType, Status};
use std::time::{Duration, UNIX_EPOCH};

/// Which message's header section is meant.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    Request,
    Response,
    Callout,
}

impl Section {
    const fn map(self) -> MapType {
        match self {
            Self::Request => MapType::HttpRequestHeaders,
            Self::Response => MapType::HttpResponseHeaders,
            Self::Callout => MapType::HttpCallResponseHeaders,
        }
    }
}

/// The whole section with its pseudo fields, in one call.
pub(crate) fn fields(section: Section) -> Vec<Field> {
    hostcalls::get_map_bytes(section.map()).unwrap_or_default()
}

/// One field.
pub(crate) fn field(section: Section, name: &str) -> Option<Vec<u8>> {
    hostcalls::get_map_value_bytes(section.map(), name).ok().flatten()
}

/// Replaces a field, or adds it.
pub(crate) fn set_field(section: Section, name: &str, value: &[u8]) -> Result<(), Status> {
    hostcalls::set_map_value_bytes(section.map(), name, Some(value))
}

/// Adds a field beside those of the same name.
pub(crate) fn add_field(section: Section, name: &str, value: &[u8]) -> Result<(), Status> {
    hostcalls::add_map_value_bytes(section.map(), name, value)
}

/// Removes all fields of that name.
pub(crate) fn remove_field(section: Section, name: &str) -> Result<(), Status> {
    hostcalls::remove_map_value(section.map(), name)
}

/// A value that Envoy holds about the stream.
pub(crate) fn property(path: &[&str]) -> Option<Vec<u8>> {
    hostcalls::get_property(path.to_vec()).ok().flatten()
}

/// Keeps a value with the stream.
pub(crate) fn set_property(path: &str, value: &[u8]) -> Result<(), Status> {
    hostcalls::set_property(vec![path], Some(value))
}

/// Tells Envoy that a property of that name outlives a redirect. The argument is a protobuf message
/// `envoy.source.extensions.common.wasm.DeclarePropertyArguments`: the name, read-write bytes, the
/// span of the client's request.
pub(crate) fn declare_property(name: &str) -> Result<(), Status> {
    const NAME: u8 = 0x0a;
    const SPAN_DOWNSTREAM_REQUEST: [u8; 2] = [0x28, 1];
    let length = u8::try_from(name.len()).map_err(|_| Status::BadArgument)?;
    let arguments = [&[NAME, length], name.as_bytes(), &SPAN_DOWNSTREAM_REQUEST].concat();
    hostcalls::call_foreign_function("declare_property", Some(&arguments)).map(|_| ())
}

/// Empties what came of the client's body.
pub(crate) fn drop_request_body(size: usize) -> Result<(), Status> {
    hostcalls::set_buffer(BufferType::HttpRequestBody, 0, size, b"")
}

/// The plugin's configuration.
pub(crate) fn plugin_configuration(size: usize) -> Vec<u8> {
    hostcalls::get_buffer(BufferType::PluginConfiguration, 0, size).ok().flatten().unwrap_or_default()
}

/// The body of a callout's response.
pub(crate) fn callout_body(size: usize) -> Vec<u8> {
    hostcalls::get_buffer(BufferType::HttpCallResponseBody, 0, size).ok().flatten().unwrap_or_default()
}

/// Answers the client of the effective stream. Nothing may follow it in a callback.
pub(crate) fn reply(reply: &Reply) -> Result<(), Status> {
    let headers: Vec<_> = reply
        .headers
        .iter()
        // Envoy counts the body itself.
        .filter(|(name, _)| name != "content-length")
        .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?)))
        .collect();
    let body = Some(reply.body.as_slice()).filter(|body| !body.is_empty());
    hostcalls::send_http_response(u32::from(reply.status), headers, body)
}

/// Sends a request to a cluster; the token comes back with its response.
pub(crate) fn dispatch(cluster: &str, headers: &[(&str, &str)], timeout: Millis) -> Result<u32, Status> {
    let timeout = Duration::from_millis(timeout.0.max(1));
    hostcalls::dispatch_http_call(cluster, headers.to_vec(), None, Vec::new(), timeout)
}

/// Makes the calls that follow be about that stream or plugin.
pub(crate) fn act_for(context: u32) -> Result<(), Status> {
    hostcalls::set_effective_context(context)
}

/// How often the plugin is called; zero ends it.
pub(crate) fn tick_every(period: Millis) -> Result<(), Status> {
    hostcalls::set_tick_period(Duration::from_millis(period.0))
}

/// The wall clock: the only one that all workers share.
pub(crate) fn now() -> Millis {
    let since = hostcalls::get_current_time().ok().and_then(|now| now.duration_since(UNIX_EPOCH).ok());
    Millis(since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default())
}

/// A value that all workers share, with the number of its version.
pub(crate) fn shared(key: &str) -> (Option<Vec<u8>>, Option<u32>) {
    hostcalls::get_shared_data(key).unwrap_or_default()
}

/// Shares a value; with a version only if it is still that one.
pub(crate) fn share(key: &str, value: &[u8], version: Option<u32>) -> Result<(), Status> {
    hostcalls::set_shared_data(key, Some(value), version)
}

/// Writes a line of Envoy's log.
pub(crate) fn log(level: log::Level, line: &str) -> Result<(), Status> {
    let level = match level {
        log::Level::Error => LogLevel::Error,
        log::Level::Warn => LogLevel::Warn,
        log::Level::Info => LogLevel::Info,
        log::Level::Debug => LogLevel::Debug,
        log::Level::Trace => LogLevel::Trace,
    };
    hostcalls::log(level, line)
}

/// A header section as the policy sees it: without pseudo fields.
pub(crate) fn plain(mut fields: Vec<Field>) -> Headers {
    fields.retain(|(name, _)| !name.starts_with(':'));
    Headers::new(fields)
}
