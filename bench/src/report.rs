//! The tables, for a terminal and as Markdown: the same text.

use std::fmt::Write;
use std::time::Duration;

use crate::contender::Contender;
use crate::measure::{CONNECTIONS, Round, median};
use crate::rounds::Turns;
use crate::work::Work;

/// Everything that was measured in one run.
pub struct Report {
    machine: String,
    rounds: usize,
    span: Duration,
    requests: u64,
    /// Answers in a second of the load generator with nothing between it and an origin.
    pub ceiling: f64,
    /// Who was not measured, and the file that is missing.
    pub missing: Vec<(Contender, String)>,
    /// Milliseconds from nothing to the first answer.
    pub starts: Vec<(Contender, f64)>,
    /// Resident KiB after the requests.
    pub memory: Vec<(Contender, u64)>,
    /// A row for each kind of request and contender.
    pub speeds: Vec<Speed>,
    /// Which of their rounds count.
    pub turns: Option<Turns>,
}

/// How fast one contender was at one kind of request.
pub struct Speed {
    work: Work,
    contender: Contender,
    median: Round,
    /// Answers in a second, round by round.
    rates: Vec<f64>,
}

impl Speed {
    /// Of its rounds.
    #[must_use]
    pub fn of(work: Work, contender: Contender, rounds: &[Round]) -> Self {
        let rates = rounds.iter().map(|round| round.rate).collect();
        Self { work, contender, median: Round::median_of(rounds), rates }
    }

    /// The median over the rounds of the share of another's rate in the same round: what else the machine does
    /// meanwhile slows both down.
    fn share_of(&self, base: &Self) -> f64 {
        median(self.rates.iter().zip(&base.rates).map(|(rate, base)| rate / base).collect())
    }
}

/// What is to be reached, by contender, kind of request, base and factor (more is better).
const GOALS: [(Contender, Work, Contender, f64); 8] = [
    (Contender::Component, Work::Small, Contender::Workerd, 5.0),
    (Contender::Component, Work::Small, Contender::Nginx, 0.35),
    (Contender::Service, Work::Small, Contender::Workerd, 3.0),
    (Contender::Service, Work::Small, Contender::Nginx, 0.22),
    (Contender::Component, Work::NotFound, Contender::Workerd, 4.0),
    (Contender::Service, Work::NotFound, Contender::Workerd, 3.0),
    (Contender::Filter, Work::Small, Contender::Envoy, 0.80),
    (Contender::Filter, Work::Large, Contender::Envoy, 0.85),
];

impl Report {
    /// An empty one.
    #[must_use]
    pub fn new(machine: String, rounds: usize, span: Duration, requests: u64) -> Self {
        let (missing, starts, memory, speeds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { machine, rounds, span, requests, ceiling: 0.0, missing, starts, memory, speeds, turns: None }
    }

    /// For the terminal.
    #[must_use]
    pub fn text(&self) -> String {
        self.tables().iter().fold(self.preface(), |text, table| text + "\n" + &table.text())
    }

    /// For a file.
    #[must_use]
    pub fn markdown(&self) -> String {
        let head = "# Results of `make bench`\n\nMade by it, not by hand; [README.md](README.md) says what is measured.\n\n";
        let head = head.to_owned() + &self.preface();
        self.tables().iter().fold(head, |text, table| text + "\n" + &table.markdown())
    }

    fn preface(&self) -> String {
        let Self { machine, rounds, span, ceiling, .. } = self;
        let mut text = format!(
            "{machine}. {CONNECTIONS} connections; medians of {rounds} alternated rounds of {} s.\n\
             Load generator, origins and contender share the machine; the load generator straight at an\n\
             origin, over plain http: {ceiling:.0} requests/s.\n",
            span.as_secs_f64()
        );
        // Writing to a string does not fail.
        if let Some(turns) = &self.turns {
            let (shortest, longest) = turns.near();
            let _ = writeln!(
                text,
                "A cache line went from core to core and back in {} ns. Rounds in which it took over {} ns, the cores\n\
                 being apart: {} taken again, {} counted all the same.",
                shortest.as_nanos(),
                longest.as_nanos(),
                turns.aside,
                turns.apart
            );
        }
        for (contender, file) in &self.missing {
            let _ = writeln!(text, "Not measured: {} ({file} is missing).", contender.name());
        }
        text
    }

    fn tables(&self) -> Vec<Table> {
        let works = Work::ALL.into_iter().filter(|work| self.speeds.iter().any(|speed| speed.work == *work));
        let mut tables: Vec<_> = works.map(|work| self.speed(work)).collect();
        let memory: Vec<_> = self.memory.iter().map(|(who, kib)| (*who, *kib as f64 / 1024.0)).collect();
        tables.push(less("Start, from nothing to the first forwarded answer", "ms", &self.starts));
        let after = format!("Resident memory after {} forwards", self.requests);
        tables.push(less(&after, "MiB", &memory));
        tables.push(self.goals(&memory));
        tables
    }

    fn speed(&self, work: Work) -> Table {
        let mut table = Table::new(
            work.name(),
            &[
                "contender",
                "requests/s",
                "slowest to fastest",
                "of workerd",
                "of nginx",
                "us of processor",
                "p50 ms",
                "p99 ms",
            ],
        );
        for speed in self.speeds.iter().filter(|speed| speed.work == work) {
            let Round { rate, cost, median, p99 } = speed.median;
            let of = |base| self.find(work, base).map(|base| speed.share_of(base));
            let slowest = speed.rates.iter().copied().fold(f64::INFINITY, f64::min);
            let fastest = speed.rates.iter().copied().fold(0.0, f64::max);
            table.rows.push(vec![
                speed.contender.name().to_owned(),
                format!("{rate:.0}"),
                format!("{slowest:.0} to {fastest:.0}"),
                ratio(of(Contender::Workerd)),
                ratio(of(Contender::Nginx)),
                format!("{cost:.0}"),
                format!("{median:.2}"),
                format!("{p99:.2}"),
            ]);
        }
        table
    }

    fn goals(&self, memory: &[(Contender, f64)]) -> Table {
        let mut table = Table::new("Goals", &["goal", "measured", "reached"]);
        for (contender, work, base, factor) in GOALS {
            let both = self.find(work, contender).zip(self.find(work, base));
            let measured = both.map(|(ours, base)| ours.share_of(base));
            let goal = format!("{}, {}: at least {factor} of {}", contender.name(), work.name(), base.name());
            table.goal(goal, measured, |measured| measured >= factor);
        }
        let start =
            self.starts.iter().find(|(contender, _)| *contender == Contender::Filter).map(|(_, ms)| *ms);
        let goal = format!("{}, start: the first answer within 1000 ms", Contender::Filter.name());
        table.goal(goal, start, |ms| ms < 1000.0);
        for contender in [Contender::Component, Contender::Service] {
            let of = |who| memory.iter().find(|(other, _)| *other == who).map(|(_, mib)| *mib);
            let measured = of(contender).zip(of(Contender::Workerd)).map(|(ours, theirs)| ours / theirs);
            let goal = format!("{}, memory: under 0.25 of workerd", contender.name());
            table.goal(goal, measured, |measured| measured < 0.25);
            let p99 = |who| self.find(Work::Small, who).map(|speed| speed.median.p99);
            let measured = p99(contender).zip(p99(Contender::Workerd)).map(|(ours, theirs)| ours / theirs);
            let goal = format!("{}, p99 of {}: under 1 of workerd", contender.name(), Work::Small.name());
            table.goal(goal, measured, |measured| measured < 1.0);
        }
        table
    }

    fn find(&self, work: Work, contender: Contender) -> Option<&Speed> {
        self.speeds.iter().find(|speed| speed.work == work && speed.contender == contender)
    }
}

/// A figure that is better when it is less, beside that of workerd.
fn less(title: &str, unit: &str, figures: &[(Contender, f64)]) -> Table {
    let mut table = Table::new(title, &["contender", unit, "of workerd"]);
    let base = figures.iter().find(|(contender, _)| *contender == Contender::Workerd).map(|(_, base)| *base);
    for (contender, figure) in figures {
        let of = ratio(base.map(|base| figure / base));
        table.rows.push(vec![contender.name().to_owned(), format!("{figure:.0}"), of]);
    }
    table
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

struct Table {
    title: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(title: &str, heads: &[&str]) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { title: title.to_owned(), heads, rows: Vec::new() }
    }

    fn goal(&mut self, goal: String, measured: Option<f64>, is_reached: impl Fn(f64) -> bool) {
        let reached = match measured {
            None => "not measured",
            Some(measured) if is_reached(measured) => "yes",
            Some(_) => "**no**",
        };
        self.rows.push(vec![goal, ratio(measured), reached.to_owned()]);
    }

    fn text(&self) -> String {
        let lines = || [&self.heads].into_iter().chain(&self.rows);
        let width = |column: usize| lines().filter_map(|line| line.get(column)).map(String::len).max();
        let widths: Vec<_> = (0..self.heads.len()).map(|column| width(column).unwrap_or_default()).collect();
        let mut text = format!("{}\n", self.title);
        for line in lines() {
            for (number, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                // Names to the left, figures to the right.
                let _ = if number == 0 {
                    write!(text, "  {cell:<width$}")
                } else {
                    write!(text, "  {cell:>width$}")
                };
            }
            text.push('\n');
        }
        text
    }

    fn markdown(&self) -> String {
        let rule = "|---".to_owned() + &"|---:".repeat(self.heads.len().saturating_sub(1)) + "|\n";
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("## {}\n\n{}{rule}{rows}", self.title, line(&self.heads))
    }
}
