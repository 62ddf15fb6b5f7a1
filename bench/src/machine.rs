//! The machine in a line: what a reader has to know of it, and nothing that names it.

use std::fs;
use std::num::NonZero;

use crate::process::Stat;

/// How many threads run at once.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Model and number of processors, memory, kernel, and who decides what runs.
#[must_use]
pub fn description() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&processors, "model name").unwrap_or("processor of an unknown model");
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = field(&memory, "MemTotal").and_then(|size| size.strip_suffix(" kB")?.parse::<u64>().ok());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().split('-').next().unwrap_or_default();
    let (count, memory) = (cores(), memory.unwrap_or_default() >> 20);
    format!("{model}, {count} cores, {memory} GiB, Linux {release}, {}", scheduling())
}

/// How this process and its children are scheduled (sched(7)).
fn scheduling() -> &'static str {
    match Stat::of(std::process::id()).map(|stat| stat.policy) {
        Some(1) => "in real time (SCHED_FIFO)",
        Some(0) => "ordinary scheduling",
        _ => "scheduling of another kind",
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
