//! Components that fail on purpose, in the worlds of the shipped ones: `proxy.wat` and `service.wat` say
//! which path does what.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// One for the world of `wasi:http` 0.2.
///
/// # Errors
/// When its text, or the world, is not sound.
pub fn proxy() -> Result<Vec<u8>, String> {
    component(include_str!("../proxy.wat"), "wit", "balancer")
}

/// One for the world of `wasi:http` 0.3.
///
/// # Errors
/// When its text, or the world, is not sound.
pub fn service() -> Result<Vec<u8>, String> {
    component(include_str!("../service.wat"), "wit/p3", "service")
}

/// A core module in a world of the project.
fn component(module: &str, wit: &str, world: &str) -> Result<Vec<u8>, String> {
    let mut module = wat::parse_str(module).map_err(|error| error.to_string())?;
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(wit);
    let made = resolve.push_dir(wit).and_then(|(package, _)| {
        let world = resolve.select_world(&[package], Some(world))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
        ComponentEncoder::default().module(&module)?.encode()
    });
    made.map_err(|error| format!("{error:#}"))
}
