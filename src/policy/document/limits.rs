//! `limits`: one entry for each limit that routes can name.

use super::reader::{Faults, Place};
use super::{DocumentRule, MAX_LIMITS};
use crate::policy::json::Json;
use crate::policy::limit::rule::{
    ClientAddress, DEFAULT_CODE, DEFAULT_USER_HEADER, KeyKind, Limit, field_name,
};
use crate::policy::number;
use std::num::NonZeroU32;

/// The limits in the order of the document. One with a fault keeps its name, so that routes may name
/// it without being at fault themselves; nothing where no names can be told.
pub(super) fn read(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<Vec<Limit>> {
    let Json::Object(entries) = json else { return faults.add(place, DocumentRule::NotAnObject) };
    if entries.len() > MAX_LIMITS {
        return faults.add(place, DocumentRule::Limits);
    }
    let mut limits: Vec<Limit> = Vec::with_capacity(entries.len());
    for (index, (name, entry)) in entries.iter().enumerate() {
        let at = if is_name(name) { place.key(name) } else { place.entry(index) };
        if !is_name(name) {
            faults.note(at, DocumentRule::LimitName);
        } else if limits.iter().any(|known| known.name == *name) {
            faults.note(at, DocumentRule::Repeated);
        }
        limits.push(limit(name, entry, at, faults));
    }
    Some(limits)
}

/// A name that is safe to print and to be told in a place.
fn is_name(name: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(is_name_byte)
}

fn limit(name: &str, json: &Json, at: Place<'_>, faults: &mut Faults) -> Limit {
    let mut limit = Limit {
        name: name.to_owned(),
        key: KeyKind::Ip,
        user_header: DEFAULT_USER_HEADER.to_owned(),
        client_address: ClientAddress::Connection,
        limit: NonZeroU32::MIN,
        window_s: NonZeroU32::MIN,
        code: DEFAULT_CODE.to_owned(),
    };
    let keys = &["key", "user_header", "client_address", "limit", "window_s", "code"];
    let Some(fields) = faults.object(json, at, keys) else { return limit };
    if let Some(kind) = faults.required(fields, at, "key") {
        limit.key = key_kind(kind, at.key("key"), faults).unwrap_or(limit.key);
    }
    if let Some(name) = fields.get("user_header") {
        limit.user_header = header(name, at.key("user_header"), faults).unwrap_or_default();
    }
    if let Some(source) = fields.get("client_address") {
        let source = client_address(source, at.key("client_address"), faults);
        limit.client_address = source.unwrap_or(ClientAddress::Connection);
    }
    for (key, number) in [("limit", &mut limit.limit), ("window_s", &mut limit.window_s)] {
        let value = faults.required(fields, at, key);
        if let Some(value) = value.and_then(|value| faults.number(value, at.key(key), number::MAX)) {
            *number = value;
        }
    }
    if let Some(code) = fields.get("code") {
        limit.code = self::code(code, at.key("code"), faults).unwrap_or_default();
    }
    limit
}

fn key_kind(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<KeyKind> {
    match json.as_str() {
        Some("ip") => Some(KeyKind::Ip),
        Some("user") => Some(KeyKind::User),
        Some("both") => Some(KeyKind::Both),
        _ => faults.add(place, DocumentRule::LimitKey),
    }
}

fn client_address(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<ClientAddress> {
    let fields = faults.object(json, place, &["header", "forwarded_for_hops"])?;
    match (fields.get("header"), fields.get("forwarded_for_hops")) {
        (Some(name), None) => header(name, place.key("header"), faults).map(ClientAddress::Header),
        (None, Some(hops)) => {
            let hops = faults.number(hops, place.key("forwarded_for_hops"), number::MAX);
            hops.map(ClientAddress::ForwardedForHops)
        }
        _ => faults.add(place, DocumentRule::ClientAddress),
    }
}

fn header(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<String> {
    json.as_str().and_then(field_name).or_else(|| faults.add(place, DocumentRule::FieldName))
}

/// Any text; it is escaped where it is shown.
fn code(json: &Json, place: Place<'_>, faults: &mut Faults) -> Option<String> {
    let code = json.as_str().filter(|code| (1..=64).contains(&code.chars().count()));
    code.map(str::to_owned).or_else(|| faults.add(place, DocumentRule::Code))
}
