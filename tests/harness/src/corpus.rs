//! Runs the whole corpus on one driver and says everything that is wrong.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::case::{Case, Exception, Exceptions, Place, cases_directory, load_all};
use crate::check::Difference;
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
    let run = catch_unwind(AssertUnwindSafe(|| driver.differences(case)));
    let differences = run.unwrap_or_else(|_| vec![Difference::of_the_run("the driver panicked")]);
    let faults = judge(&differences, exceptions.find(&case.name, driver.name()));
    if faults.is_empty() {
        return None;
    }
    let mut text = format!("{} on {}\n  why: {}", case.name, driver.name(), case.why);
    for fault in faults {
        let _ = write!(text, "\n  {}", fault.replace('\n', "\n  "));
    }
    Some(text)
}

/// What differs without being excepted, and what is excepted without differing.
fn judge(differences: &[Difference], exception: Option<&Exception>) -> Vec<String> {
    let excepted = exception.map(Exception::places).unwrap_or_default();
    let found: BTreeSet<Place> = differences.iter().filter_map(|difference| difference.place).collect();
    let excused = |place: &Option<Place>| place.is_some_and(|place| excepted.contains(&place));
    let faults = differences.iter().filter(|difference| !excused(&difference.place));
    let holding = excepted.difference(&found);
    let reason = exception.map_or("", |exception| &exception.reason);
    faults
        .map(Difference::to_string)
        .chain(holding.map(|place| format!("{place}: holds, but is listed as an exception: {reason}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exception(at: &[Place]) -> Exception {
        let at = Some(at.iter().copied().collect());
        Exception { case: String::new(), driver: String::new(), at, reason: "the reason".to_owned() }
    }

    #[test]
    fn an_exception_excuses_its_places_and_no_more() {
        let found = [Difference::at(Place::Step(2), "status"), Difference::at(Place::LOG, "a line")];
        let judged = |at: &[Place]| judge(&found, Some(&exception(at)));
        assert_eq!(judge(&[], None), Vec::<String>::new());
        assert_eq!(judge(&found, None), ["step 2: status", "log: a line"]);
        assert_eq!(judged(&[Place::Step(2), Place::LOG]), Vec::<String>::new());
        assert_eq!(judged(&[Place::Step(2)]), ["log: a line"]);
        assert_eq!(
            judged(&[Place::Step(1), Place::Step(2), Place::LOG, Place::SCRIPT]),
            ["step 1", "script"]
                .map(|place| format!("{place}: holds, but is listed as an exception: the reason"))
        );
    }

    #[test]
    fn nothing_excuses_a_run_that_went_wrong() {
        let found = [Difference::at(Place::Step(1), "status"), Difference::of_the_run("the host died")];
        assert_eq!(judge(&found, Some(&exception(&[Place::Step(1)]))), ["the host died"]);
    }
}
