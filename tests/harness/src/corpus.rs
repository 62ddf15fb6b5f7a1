//! Runs the whole corpus on one driver and says everything that is wrong.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::case::{Case, Exceptions, cases_directory, load_all};
use crate::driver::{DRIVERS, Driver};

/// Runs every case that `CASE` selects (all by default), `width` at once, and prints the count.
///
/// # Errors
/// Every failing case, every fault of the files and of the list of exceptions, as one text.
pub fn run(driver: &(impl Driver + Sync), width: usize) -> Result<(), String> {
    let begun = Instant::now();
    let (cases, exceptions) = load_all(&cases_directory()).map_err(|faults| faults.join("\n"))?;
    let mut faults = exceptions.faults(&cases, DRIVERS);
    let wanted = std::env::var("CASE").unwrap_or_default();
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.name.contains(&wanted)).collect();
    if cases.is_empty() {
        faults.push(format!("no case is named like {wanted:?}"));
    }
    faults.extend(run_all(driver, &cases, &exceptions, width));
    let seconds = begun.elapsed().as_secs_f32();
    println!("{}: {} cases in {seconds:.1} s", driver.name(), cases.len());
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n{} of {} cases", faults.join("\n\n"), faults.len(), cases.len()))
}

fn run_all(
    driver: &(impl Driver + Sync),
    cases: &[Case],
    exceptions: &Exceptions,
    width: usize,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(fault) = run_one(driver, case, exceptions)
                        && let Ok(mut faults) = faults.lock()
                    {
                        faults.push((case.name.clone(), fault));
                    }
                }
            });
        }
    });
    let mut faults = faults.into_inner().unwrap_or_default();
    faults.sort();
    faults.into_iter().map(|(_, fault)| fault).collect()
}

fn run_one(driver: &impl Driver, case: &Case, exceptions: &Exceptions) -> Option<String> {
    let run = catch_unwind(AssertUnwindSafe(|| driver.run(case)));
    let differences = run.unwrap_or_else(|_| vec!["the driver panicked".to_owned()]);
    match (exceptions.find(&case.name, driver.name()), differences.as_slice()) {
        (None, []) => None,
        (Some(_), [_, ..]) => None,
        (Some(exception), []) => {
            let Case { name, .. } = case;
            Some(format!("{name}: passes, but is listed as an exception: {}", exception.reason))
        }
        (None, differences) => {
            let mut text = format!("{} on {}\n  why: {}", case.name, driver.name(), case.why);
            for difference in differences {
                let _ = write!(text, "\n  {}", difference.replace('\n', "\n  "));
            }
            Some(text)
        }
    }
}
