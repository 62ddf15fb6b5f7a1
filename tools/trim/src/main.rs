//! Takes exports out of a WebAssembly module, and with them everything that only they need.
//!
//! usage: messageweave-lb-trim IN OUT EXPORT...
//!
//! Only the named exports stay, each of which must be there. A library that exports every callback
//! of an ABI makes its host call them all, several for each request; and a linker that was told to
//! export them keeps the code.

use std::process::ExitCode;

use walrus::Module;
use walrus::passes::gc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [input, output, exports @ ..] if !exports.is_empty() => trim(input, output, exports),
        _ => Err("usage: messageweave-lb-trim IN OUT EXPORT...".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("messageweave-lb-trim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trim(input: &str, output: &str, exports: &[String]) -> Result<(), String> {
    let mut module = Module::from_file(input).map_err(|error| format!("{input}: {error:#}"))?;
    for export in exports {
        if !module.exports.iter().any(|known| known.name == *export) {
            return Err(format!("{input} has no export {export}"));
        }
    }
    let unwanted: Vec<_> = module
        .exports
        .iter()
        .filter(|known| !exports.contains(&known.name))
        .map(|known| known.id())
        .collect();
    unwanted.into_iter().for_each(|export| module.exports.delete(export));
    gc::run(&mut module);
    module.emit_wasm_file(output).map_err(|error| format!("{output}: {error:#}"))
}
