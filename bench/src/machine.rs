//! The machine in a line: what a reader has to know of it, and nothing that names it.

use std::fs;
use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Stat;

/// How many threads run at once.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
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

/// Ways of a cache line from core to core and back, in one batch.
const TRIPS: u32 = 1000;
/// Batches; what interrupts one does not the others.
const BATCHES: u32 = 10;
/// Looks at the line before the core is offered to others: the other side may wait for this very one.
const LOOKS: u32 = 100_000;

/// How long a cache line takes from one core to another and back; nothing where there is one core.
#[must_use]
pub fn core_distance() -> Duration {
    if cores() < 2 {
        return Duration::ZERO;
    }
    let line = AtomicU32::new(0);
    let line = &line;
    let batches = thread::scope(|scope| {
        scope.spawn(move || (0..TRIPS * BATCHES).for_each(|trip| pass_on(line, 2 * trip + 1)));
        let batch = |number: u32| {
            let begun = Instant::now();
            for trip in number * TRIPS..(number + 1) * TRIPS {
                pass_on(line, 2 * trip);
            }
            begun.elapsed() / TRIPS
        };
        (0..BATCHES).map(batch).collect::<Vec<_>>()
    });
    batches.into_iter().min().unwrap_or_default()
}

/// Waits for a number and leaves the next one.
fn pass_on(line: &AtomicU32, number: u32) {
    let mut looks = 0;
    while line.load(Ordering::Acquire) != number {
        looks += 1;
        if looks % LOOKS == 0 {
            thread::yield_now();
        }
        spin_loop();
    }
    line.store(number + 1, Ordering::Release);
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
