//! Takes exports out of a WebAssembly module, and with them everything that only they need.
//!
//! usage: messageweave-lb-trim IN OUT EXPORT...
//!
//! Only the named exports stay, each of which must be there; `NAME=FUNCTION` exports another function
//! under the name. A library that exports every callback
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
    let mut wanted = Vec::new();
    for export in exports {
        let (name, function) = export.split_once('=').unwrap_or((export, export));
        let Some(found) = module.exports.iter().find(|known| known.name == function) else {
            return Err(format!("{input} has no export {function}"));
        };
        wanted.push((found.id(), name.to_owned()));
    }
    let all: Vec<_> = module.exports.iter().map(|known| known.id()).collect();
    for export in all {
        match wanted.iter().find(|(id, _)| *id == export) {
            Some((_, name)) => module.exports.get_mut(export).name.clone_from(name),
            None => module.exports.delete(export),
        }
    }
    // Nobody at run time asks which tools made it.
    module.producers.clear();
    gc::run(&mut module);
    module.emit_wasm_file(output).map_err(|error| format!("{output}: {error:#}"))
}
