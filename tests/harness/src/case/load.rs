//! Reads the corpus from disk: every `.toml` two levels down is a case.

use std::fs;
use std::path::{Path, PathBuf};

use super::validate::validate;
use super::{Case, Exceptions};

/// The folder of the corpus.
#[must_use]
pub fn cases_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases")
}

/// Every case by name, and the list of exceptions; or everything that is wrong with the files.
///
/// # Errors
/// One text per fault, each naming the file.
pub fn load_all(root: &Path) -> Result<(Vec<Case>, Exceptions), Vec<String>> {
    let mut cases = Vec::new();
    let mut faults = Vec::new();
    for topic in entries(root, &mut faults) {
        if !topic.is_dir() {
            continue;
        }
        for file in entries(&topic, &mut faults) {
            if file.extension().is_some_and(|extension| extension == "toml") {
                match load_file(root, &file) {
                    Ok(case) => cases.push(case),
                    Err(fault) => faults.push(fault),
                }
            } else {
                faults.push(format!("{}: not a case (no .toml)", file.display()));
            }
        }
    }
    let exceptions = match load_exceptions(&root.join("exceptions.toml")) {
        Ok(exceptions) => exceptions,
        Err(fault) => {
            faults.push(fault);
            Exceptions::default()
        }
    };
    if faults.is_empty() { Ok((cases, exceptions)) } else { Err(faults) }
}

/// One case from its file.
///
/// # Errors
/// What is wrong with the file, naming it and the key.
pub fn load_file(root: &Path, file: &Path) -> Result<Case, String> {
    let named = file.strip_prefix(root).unwrap_or(file);
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", named.display()))?;
    let name = named.with_extension("").to_string_lossy().replace('\\', "/");
    parse(&name, &text).map_err(|fault| format!("{}: {fault}", named.display()))
}

/// One case from its text.
///
/// # Errors
/// What is wrong with it, naming the key.
pub fn parse(name: &str, text: &str) -> Result<Case, String> {
    let mut case: Case = toml::from_str(text).map_err(|error| error.to_string())?;
    name.clone_into(&mut case.name);
    validate(&case)?;
    Ok(case)
}

fn load_exceptions(file: &Path) -> Result<Exceptions, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("exceptions.toml: {error}"))?;
    Exceptions::parse(&text)
}

fn entries(folder: &Path, faults: &mut Vec<String>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).collect(),
        Err(error) => {
            faults.push(format!("{}: {error}", folder.display()));
            Vec::new()
        }
    };
    paths.sort();
    paths
}
