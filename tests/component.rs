//! The shipped components: what they ask of a host, and how large they are.
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

/// A component that the Makefile builds.
struct Shipped {
    file: &'static str,
    golden: &'static str,
    max_bytes: usize,
}

const SHIPPED: [Shipped; 2] = [
    // 400 KiB: what a component may cost a host that loads it anew for every request.
    Shipped { file: "dist/messageweave-lb.wasm", golden: "wit/imports.golden", max_bytes: 400 * 1024 },
    Shipped { file: "dist/messageweave-lb-p3.wasm", golden: "wit/p3/imports.golden", max_bytes: 512 * 1024 },
];

#[test]
fn a_component_imports_what_its_golden_list_says_and_nothing_else() {
    for shipped in SHIPPED {
        let golden = fs::read_to_string(root().join(shipped.golden)).unwrap();
        let golden: BTreeSet<_> = golden.lines().filter(|line| !line.starts_with('#')).collect();
        let imports = imports(&shipped.read());
        let imports: BTreeSet<_> = imports.iter().map(String::as_str).collect();
        let new: Vec<_> = imports.difference(&golden).collect();
        let gone: Vec<_> = golden.difference(&imports).collect();
        let Shipped { file, golden, .. } = shipped;
        assert!(
            new.is_empty() && gone.is_empty(),
            "the imports of {file} differ from {golden}: new {new:?}, gone {gone:?}"
        );
    }
}

#[test]
fn a_component_needs_no_filesystem_and_no_sockets() {
    for shipped in SHIPPED {
        let imports = imports(&shipped.read());
        assert!(!imports.is_empty());
        for import in imports {
            let package = import.split('/').next().unwrap();
            assert!(!["wasi:filesystem", "wasi:sockets"].contains(&package), "{import}");
        }
    }
}

#[test]
fn a_component_is_stripped() {
    for shipped in SHIPPED {
        let mut modules = 0;
        for payload in Parser::new(0).parse_all(&shipped.read()) {
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
}

#[test]
fn a_component_is_no_larger_than_its_bound() {
    for shipped in SHIPPED {
        let (bytes, max_bytes) = (shipped.read().len(), shipped.max_bytes);
        println!("{}: {bytes} bytes of at most {max_bytes}", shipped.file);
        assert!(bytes <= max_bytes, "{}: {bytes} bytes are more than {max_bytes}", shipped.file);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Shipped {
    fn read(&self) -> Vec<u8> {
        let file = self.file;
        fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}; run `make build` first"))
    }
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
