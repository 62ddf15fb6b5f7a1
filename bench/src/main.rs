//! `make bench`: starts the contenders, measures them in alternated rounds, prints the tables and writes
//! them to `bench/results.md`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use messageweave_lb_bench::contender::Contender;
use messageweave_lb_bench::measure::{ceiling, median, requests, round};
use messageweave_lb_bench::origins::Origins;
use messageweave_lb_bench::report::{Report, Speed};
use messageweave_lb_bench::rounds::Turns;
use messageweave_lb_bench::work::Work;
use messageweave_lb_bench::{Fallible, machine};

/// Measures messageweave-lb beside what its users would otherwise run.
#[derive(Parser)]
#[command(name = "messageweave-lb-bench")]
struct Arguments {
    /// Seconds of one round.
    #[arg(long, default_value = "1")]
    seconds: f64,
    /// Rounds of each contender and kind of request.
    #[arg(long, default_value = "11")]
    rounds: usize,
    /// Requests before memory is read.
    #[arg(long, default_value = "100000")]
    requests: u64,
    /// One short round of each, to see that everything works; nothing is written.
    #[arg(long)]
    quick: bool,
    /// Only those whose name contains this text. Repeatable; nothing is written then.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Only these kinds of requests, by a part of their names. Repeatable; nothing is written then.
    #[arg(long, value_name = "TEXT")]
    work: Vec<String>,
    /// Where the tables go.
    #[arg(long, value_name = "FILE", default_value = "bench/results.md")]
    results: PathBuf,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.seconds = arguments.seconds.min(0.3);
        (arguments.rounds, arguments.requests) = (1, 1000);
    }
    match bench(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bench: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Fallible<()> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let origins = Origins::start(folder.path())?;
    let span = Duration::try_from_secs_f64(arguments.seconds).map_err(|error| error.to_string())?;
    let mut report = Report::new(machine::description(), arguments.rounds, span, arguments.requests);
    let contenders = arguments.contenders(&mut report);
    report.ceiling = ceiling(origins.plain, Work::Small, span)?;
    starts(arguments, &contenders, &origins, folder.path(), &mut report)?;
    let running = contenders.iter().map(|contender| contender.start(&origins, folder.path()));
    let running = running.collect::<Fallible<Vec<_>>>()?;
    for running in &running {
        requests(running, Work::Small, arguments.requests)?;
        report.memory.push((running.contender, running.process.resident()));
        eprint!(".");
    }
    let mut turns = Turns::new(arguments.rounds);
    for work in Work::ALL.into_iter().filter(|work| arguments.wants(work.name())) {
        let rounds = turns.take(&running, |one| {
            eprint!(".");
            round(one, work, span)
        })?;
        let contenders = running.iter().map(|running| running.contender);
        report.speeds.extend(contenders.zip(&rounds).map(|(one, rounds)| Speed::of(work, one, rounds)));
    }
    eprintln!();
    report.turns = Some(turns);
    print!("{}", report.text());
    if !arguments.quick && arguments.only.is_empty() && arguments.work.is_empty() {
        let file = &arguments.results;
        std::fs::write(file, report.markdown()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

impl Arguments {
    fn contenders(&self, report: &mut Report) -> Vec<Contender> {
        let is_meant = |name: &str| self.only.is_empty() || self.only.iter().any(|text| name.contains(text));
        let mut found = Vec::new();
        for contender in Contender::ALL.into_iter().filter(|contender| is_meant(contender.name())) {
            let missing = contender.missing();
            match missing.first().and_then(|file| file.file_name()) {
                None => found.push(contender),
                Some(file) => report.missing.push((contender, file.to_string_lossy().into_owned())),
            }
        }
        found
    }

    fn wants(&self, work: &str) -> bool {
        self.work.is_empty() || self.work.iter().any(|text| work.contains(text))
    }
}

/// From nothing to the first answer, alternated.
fn starts(
    arguments: &Arguments,
    contenders: &[Contender],
    origins: &Origins,
    folder: &Path,
    report: &mut Report,
) -> Fallible<()> {
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..arguments.rounds {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(contender.start(origins, folder)?.start.as_secs_f64() * 1000.0);
            eprint!(".");
        }
    }
    report.starts = contenders.iter().copied().zip(times.into_iter().map(median)).collect();
    Ok(())
}
