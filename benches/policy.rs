//! The policy alone: what an admission costs, and that neither origins nor routes make it dearer. Exits
//! with 1 when a bound does not hold.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::unreachable,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a measurement, which prints and reads files; the policy does neither"
)]

use criterion::{BatchSize, Criterion};
use messageweave_lb::policy::admission::{Admission, Decision, RequestHead, admit};
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::upgrade::Scheme;
use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// An admission takes no longer, in nanoseconds.
const MOST: f64 = 1000.0;
/// A hundred times as many origins or routes make it dearer by no more than this factor.
const GROWTH: f64 = 1.5;
/// The variable that brings routes of one's own.
const ROUTES: &str = "LB_POLICY_JSON";

/// A request, and what becomes of it.
struct Case {
    name: &'static str,
    origins: usize,
    /// So many routes of one's own, the last of which is asked for.
    routes: Option<usize>,
    scheme: Scheme,
    path: String,
    expected: fn(&Decision<'_>) -> bool,
}

fn case(name: &'static str, path: &str, expected: fn(&Decision<'_>) -> bool) -> Case {
    Case { name, origins: 2, routes: None, scheme: Scheme::Https, path: path.to_owned(), expected }
}

fn is_forwarded(decision: &Decision<'_>) -> bool {
    matches!(decision, Decision::Forward(_))
}

fn cases() -> Vec<Case> {
    let refused = |decision: &Decision<'_>| matches!(decision, Decision::Reply(reply) if reply.status == 404);
    let upgraded =
        |decision: &Decision<'_>| matches!(decision, Decision::Reply(reply) if reply.status == 308);
    let mut cases = vec![
        case("404", "/not-forwarded", refused),
        Case { scheme: Scheme::Http, ..case("308", "/ready?a=1", upgraded) },
        case("forward, 2 origins", "/ready", is_forwarded),
        Case { origins: 200, ..case("forward, 200 origins", "/ready", is_forwarded) },
    ];
    for (name, count) in [("forward, 19 routes", 19), ("forward, 1900 routes", 1900)] {
        let path = format!("/route/{}", count - 1);
        cases.push(Case { routes: Some(count), ..case(name, &path, is_forwarded) });
    }
    cases
}

impl Case {
    fn settings(&self) -> Settings {
        let origins: Vec<_> =
            (0..self.origins).map(|number| format!("\"https://{number}.example\"")).collect();
        let origins = format!("[{}]", origins.join(","));
        let routes = self.routes.map(routes);
        Settings::from_vars(|name| match name {
            "BACKEND_ORIGINS_JSON" => Some(origins.clone()),
            ROUTES => routes.clone(),
            _ => None,
        })
    }

    fn head(&self) -> RequestHead<'_> {
        RequestHead {
            method: "GET",
            path_with_query: Some(&self.path),
            scheme: Some(self.scheme),
            authority: Some("lb.example"),
            headers: Headers::from([
                ("host", "lb.example"),
                ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"),
                ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
                ("accept-encoding", "gzip, deflate, br, zstd"),
                ("cookie", "session=0123456789abcdef0123456789abcdef"),
                ("authorization", "Bearer 0123456789abcdef0123456789abcdef"),
            ]),
            peer: None,
        }
    }
}

fn routes(count: usize) -> String {
    let mut rows = String::new();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(rows, "{comma}{{\"path\":\"/route/{number}\",\"methods\":[\"GET\"]}}");
    }
    format!("{{\"version\":1,\"routes\":[{rows}]}}")
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion");
    let mut criterion = Criterion::default()
        .output_directory(&folder)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(50)
        .configure_from_args();
    let cases = cases();
    for case in &cases {
        let settings = case.settings();
        let Admission::Decided(decision) = admit(&settings, case.head()) else {
            unreachable!("no route is limited")
        };
        assert!((case.expected)(&decision), "{}", case.name);
        let admission = |head: RequestHead<'_>| {
            black_box(admit(&settings, head));
        };
        criterion.bench_function(case.name, |bencher| {
            bencher.iter_batched(|| case.head(), admission, BatchSize::SmallInput);
        });
    }
    criterion.final_summary();
    judge(&folder, &cases)
}

/// What a run under `--test` or with a filter did not measure is not judged.
fn judge(folder: &Path, cases: &[Case]) -> ExitCode {
    let took = |name: &str| estimate(&folder.join(name).join("new/estimates.json"));
    let mut faults = Vec::new();
    for case in cases {
        if let Some(nanos) = took(case.name).filter(|nanos| *nanos > MOST) {
            faults.push(format!("{}: {nanos:.0} ns are more than {MOST:.0} ns", case.name));
        }
    }
    for (few, many) in
        [("forward, 2 origins", "forward, 200 origins"), ("forward, 19 routes", "forward, 1900 routes")]
    {
        if let (Some(few_took), Some(many_took)) = (took(few), took(many))
            && many_took > few_took * GROWTH
        {
            faults.push(format!("{many}: {many_took:.0} ns, but {few}: {few_took:.0} ns"));
        }
    }
    faults.iter().for_each(|fault| eprintln!("policy: {fault}"));
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median of one run, in nanoseconds, as criterion writes it down.
fn estimate(file: &PathBuf) -> Option<f64> {
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates.pointer("/median/point_estimate")?.as_f64()
}
