//! The compiled component on disk, in the user's cache directory (XDG Base Directory
//! Specification), so that a second start compiles nothing. No cache is never an error.

use std::path::PathBuf;

use wasmtime::{Cache, CacheConfig};

/// The cache, unless there is no directory for it or none can be made.
pub(crate) fn open() -> Option<Cache> {
    let mut config = CacheConfig::new();
    config.with_directory(directory()?);
    Cache::new(config).ok()
}

fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("messageweave-lb"))
}
