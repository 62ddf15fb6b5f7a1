//! Finding and compiling the component.

use std::fmt;
use std::path::{Path, PathBuf};

use wasmtime::component::Component;
use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::arguments::Limits;
use crate::cache;
use crate::instance::Engine;
use crate::world::World;

const FILE_NAME: &str = "messageweave-lb.wasm";
/// Core modules, and tables, that one component may be made of: itself and its adapters.
const MODULES: u32 = 8;
/// Calls that may wait inside a synchronous import at once.
const STACKS: u32 = 1000;
/// A wasm page of linear memory.
const PAGE: usize = 64 * 1024;

/// Compiles the component, or takes it from the cache.
pub(crate) fn load(file: &Path, limits: &Limits) -> Result<Engine, ComponentError> {
    let file = file.to_owned();
    let bytes = std::fs::read(&file).map_err(|error| ComponentError::Unreadable(file.clone(), error))?;
    let refused = |error: wasmtime::Error| ComponentError::Refused(file.clone(), format!("{error:#}"));
    let world = World::of(&bytes).ok_or_else(|| ComponentError::OtherWorld(file.clone()))?;
    let engine = wasmtime::Engine::new(&configuration(world, limits)).map_err(refused)?;
    let component = Component::new(&engine, bytes).map_err(refused)?;
    Engine::new(&component, world, limits).map_err(refused)
}

fn configuration(world: World, limits: &Limits) -> Config {
    let mut slots = PoolingAllocationConfig::new();
    let instances = limits.instances_of(world);
    slots
        .total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(MODULES))
        .total_memories(instances)
        .total_tables(instances.saturating_mul(MODULES))
        .total_stacks(instances.max(STACKS));
    slots.max_memory_size(limits.memory_of(world).next_multiple_of(PAGE));
    let mut config = Config::new();
    config
        .cache(cache::open())
        // One request per instance at a time: the 0.2 world needs no concurrent tasks.
        .concurrency_support(world == World::Service)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(slots));
    config
}

/// `dist/` of the project that the executable was built in, then of the working directory.
pub(crate) fn find() -> Result<PathBuf, ComponentError> {
    let mut tried = Vec::new();
    if let Ok(executable) = std::env::current_exe()
        && let Some(folder) = executable.parent()
    {
        tried.push(folder.join(FILE_NAME));
        tried.extend(folder.ancestors().nth(2).map(|root| root.join("dist").join(FILE_NAME)));
    }
    tried.push(Path::new("dist").join(FILE_NAME));
    match tried.iter().find(|file| file.is_file()) {
        Some(file) => Ok(file.clone()),
        None => Err(ComponentError::NotFound(tried)),
    }
}

/// Why there is no component to run.
#[derive(Debug)]
pub(crate) enum ComponentError {
    NotFound(Vec<PathBuf>),
    Unreadable(PathBuf, std::io::Error),
    OtherWorld(PathBuf),
    Refused(PathBuf, String),
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(tried) => {
                f.write_str("no component: give --component FILE or run `make build`; tried")?;
                tried.iter().try_for_each(|file| write!(f, " {}", file.display()))
            }
            Self::Unreadable(file, error) => write!(f, "--component {}: {error}", file.display()),
            Self::OtherWorld(file) => write!(
                f,
                "--component {}: not a component that exports wasi:http/incoming-handler@0.2 or \
                 wasi:http/handler@0.3",
                file.display()
            ),
            Self::Refused(file, error) => write!(f, "--component {}: {error}", file.display()),
        }
    }
}

impl std::error::Error for ComponentError {}
