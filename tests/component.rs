//! The shipped component, `dist/messageweave-lb.wasm`: what it asks of a host, and how large it is.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "reads a file that was built and prints its size; the policy does neither"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wasmparser::{Parser, Payload};

/// 400 KiB: what a component may cost a host that loads it anew for every request.
const MAX_BYTES: usize = 400 * 1024;

#[test]
fn the_component_imports_what_the_golden_list_says_and_nothing_else() {
    let golden = fs::read_to_string(root().join("wit/imports.golden")).unwrap();
    let golden: BTreeSet<_> = golden.lines().filter(|line| !line.starts_with('#')).collect();
    let component = component();
    let imports = imports(&component);
    let imports: BTreeSet<_> = imports.iter().map(String::as_str).collect();
    let new: Vec<_> = imports.difference(&golden).collect();
    let gone: Vec<_> = golden.difference(&imports).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "the component's imports differ from wit/imports.golden: new {new:?}, gone {gone:?}"
    );
}

#[test]
fn the_component_needs_no_filesystem_and_no_sockets() {
    let imports = imports(&component());
    assert!(!imports.is_empty());
    for import in imports {
        let package = import.split('/').next().unwrap();
        assert!(!["wasi:filesystem", "wasi:sockets"].contains(&package), "{import}");
    }
}

#[test]
fn the_component_is_stripped() {
    let component = component();
    let mut modules = 0;
    for payload in Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } => modules += 1,
            Payload::CustomSection(section) => {
                let name = section.name();
                let debug = name == "name" || name.starts_with(".debug") || name == "sourceMappingURL";
                assert!(!debug, "a section {name:?} of {} bytes", section.data().len());
            }
            _ => {}
        }
    }
    assert!(modules > 0, "no module inside: this is no component");
}

#[test]
fn the_component_is_at_most_400_kib() {
    let bytes = component().len();
    println!("dist/messageweave-lb.wasm: {bytes} bytes of at most {MAX_BYTES}");
    assert!(bytes <= MAX_BYTES, "{bytes} bytes are more than {MAX_BYTES}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn component() -> Vec<u8> {
    let file = "dist/messageweave-lb.wasm";
    fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}; run `make build` first"))
}

/// The names of the component's own imports; those of what is nested in it are not the host's.
fn imports(component: &[u8]) -> BTreeSet<String> {
    let mut depth = 0;
    let mut imports = BTreeSet::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 1 => {
                imports.extend(section.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
            _ => {}
        }
    }
    imports
}
