//! The world that a component was made for: it says so by what it exports.

use wasmparser::{Parser, Payload};

/// The worlds that the host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// `wasi:http/proxy` 0.2: one request per instance at a time.
    Proxy,
    /// `wasi:http/service` 0.3: many requests per instance at once.
    Service,
}

impl World {
    /// The version of `wasi:http`.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Proxy => "0.2",
            Self::Service => "0.3",
        }
    }

    const EXPORTS: [(&str, Self); 2] =
        [("wasi:http/incoming-handler@0.2.", Self::Proxy), ("wasi:http/handler@0.3.", Self::Service)];

    /// Reads the exports of a component, not those of what it is made of. Nothing for what is no
    /// component, or one of another kind.
    pub(crate) fn of(component: &[u8]) -> Option<Self> {
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(component) {
            match payload.ok()? {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::ComponentExportSection(exports) if depth == 1 => {
                    for export in exports {
                        let name = export.ok()?.name.name;
                        let known = Self::EXPORTS.iter().find(|(start, _)| name.starts_with(start));
                        if let Some((_, world)) = known {
                            return Some(*world);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exporting(name: &str) -> Vec<u8> {
        wat::parse_str(format!(
            r#"(component (component $inner) (instance $it (instantiate $inner))
                (export "{name}" (instance $it)))"#
        ))
        .unwrap()
    }

    #[test]
    fn the_exported_handler_tells() {
        assert_eq!(World::of(&exporting("wasi:http/incoming-handler@0.2.4")), Some(World::Proxy));
        assert_eq!(World::of(&exporting("wasi:http/handler@0.3.0")), Some(World::Service));
        assert_eq!(World::of(&exporting("wasi:cli/run@0.2.4")), None);
    }

    #[test]
    fn what_a_nested_component_exports_does_not_count() {
        let component = wat::parse_str(
            r#"(component (component (component $inner) (instance $it (instantiate $inner))
                (export "wasi:http/handler@0.3.0" (instance $it))))"#,
        );
        assert_eq!(World::of(&component.unwrap()), None);
    }

    #[test]
    fn what_is_no_component_has_no_world() {
        assert_eq!(World::of(b"#!/bin/sh"), None);
        assert_eq!(World::of(&wat::parse_str("(module)").unwrap()), None);
    }
}
