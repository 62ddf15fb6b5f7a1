//! Header sections across the component boundary.

use super::bindings::wasi::http::types::Fields;
use crate::policy::headers::{Field, Headers};

/// Hands a header section to the host, whole. A host that forbids one field refuses the whole list:
/// then that field is dropped, never the message.
pub(super) fn lower(headers: &[Field]) -> Fields {
    if let Ok(fields) = Fields::from_list(headers) {
        return fields;
    }
    let fields = Fields::new();
    for (name, value) in headers {
        let _ = fields.append(name, value);
    }
    fields
}

/// Takes a header section from the host.
pub(super) fn lift(fields: &Fields) -> Headers {
    Headers::new(fields.entries())
}
