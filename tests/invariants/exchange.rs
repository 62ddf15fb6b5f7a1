//! Any sequence of events on an exchange (contract 2.6 and 2.7). The bytes of an input choose the
//! configuration, the request and the events. In an honest input only what can happen happens, in a
//! hostile one any event comes at any time; the ledger's rules hold for both.

use super::draws::Draws;
use super::shell::Shell;
use messageweave_lb::policy::admission::{Decision, RequestHead, admit};
use messageweave_lb::policy::exchange::{Event, ResponseHead};
use messageweave_lb::policy::failure::FailureClass;
use messageweave_lb::policy::headers::Headers;
use messageweave_lb::policy::plan::Plan;
use messageweave_lb::policy::settings::Settings;
use messageweave_lb::policy::upgrade::Scheme;

const ORIGINS: [&str; 4] =
    ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9443", "https://[2001:db8::1]"];
const STATUSES: [u16; 16] = [302, 307, 500, 200, 303, 301, 308, 503, 404, 304, 204, 413, 100, 599, 400, 302];
const LOCATIONS: [&str; 12] = [
    "/x",
    "y?z#f",
    "https://b.example:8443/h",
    "https://elsewhere.example/",
    "//a.example/",
    "",
    "http://a.example/",
    "https://127.0.0.1:9443/",
    "https://10.0.0.1/",
    "https://u@a.example/",
    "https://sub.localhost/",
    "?",
];
const CLASSES: [FailureClass; 11] = [
    FailureClass::Reset,
    FailureClass::Timeout,
    FailureClass::Dns,
    FailureClass::Refused,
    FailureClass::Unreachable,
    FailureClass::Tls,
    FailureClass::Protocol,
    FailureClass::Limit,
    FailureClass::Prohibited,
    FailureClass::Invalid,
    FailureClass::Internal,
];

/// Every rule of the ledger holds after every event, and the exchange comes to an end.
pub(crate) fn check(data: &[u8]) {
    let mut draws = Draws::new(data);
    let hostile = draws.flag();
    let settings = settings(&mut draws);
    let plan = plan(&settings, &mut draws);
    let dice = draws.number(0, 255);
    let mut shell = Shell::start(plan, dice, hostile);
    while !draws.is_empty() {
        let patience = draws.number(0, 9);
        shell.let_pass(if patience > 7 { draws.number(0, 40) } else { 0 });
        let event = event(&mut draws, &shell);
        shell.report(event);
    }
    shell.run_out();
}

fn settings(draws: &mut Draws<'_>) -> Settings {
    let origins = ORIGINS[..draws.number(1, 4) as usize].join("\",\"");
    let numbers: [u64; 5] = std::array::from_fn(|_| draws.number(1, 40));
    Settings::from_vars(|name| {
        Some(match name {
            "BACKEND_ORIGINS_JSON" => format!("[\"{origins}\"]"),
            "LB_MAX_ATTEMPTS" => (numbers[0] % 5 + 1).to_string(),
            "LB_REQUEST_TIMEOUT_MS" => numbers[1].to_string(),
            "LB_RECONCILE_TIMEOUT_MS" => (numbers[2] * 3).to_string(),
            "LB_WORKER_TIMEOUT_MS" => (numbers[3] * 2).to_string(),
            "LB_REPLAY_MAX_BYTES" => numbers[4].to_string(),
            _ => return None,
        })
    })
}

fn plan<'s>(settings: &'s Settings, draws: &mut Draws<'_>) -> Plan<'s> {
    const REQUESTS: [(&str, &str); 6] = [
        ("POST", "/webhook/tg?a=1"),
        ("GET", "/ready?"),
        ("PUT", "/api/config"),
        ("POST", "/worker"),
        ("POST", "/reconcile"),
        ("GET", "/healthz"),
    ];
    let (method, path) = draws.pick(&REQUESTS);
    if path == "/healthz" {
        let origin = &settings.origins()[draws.byte() as usize % settings.origins().len()];
        return Plan::probe(settings, origin);
    }
    let mut headers = Headers::from([
        ("accept", "*/*"),
        ("authorization", "Bearer x"),
        ("content-type", "text/plain"),
        ("x-private", "1"),
    ]);
    if let Some(length) = draws.pick(&[Some("12"), None, Some("0")]) {
        headers.set("content-length", length);
    }
    let head = RequestHead {
        method,
        path_with_query: Some(path),
        scheme: Some(Scheme::Https),
        authority: Some("lb.example"),
        headers,
        peer: None,
    };
    match admit(settings, head).counted(|_| panic!("nothing is limited here")) {
        Decision::Forward(plan) => *plan,
        other => panic!("not forwarded: {other:?}"),
    }
}

fn event(draws: &mut Draws<'_>, shell: &Shell<'_>) -> Event {
    match draws.number(0, 14) {
        0 | 1 => Event::Opened,
        2 | 3 => head(draws),
        4 => Event::Failed(draws.pick(&CLASSES)),
        5 => Event::Took(draws.number(0, 40) as usize),
        6 => Event::Took(shell.pending()),
        7 => Event::UploadClosed,
        8 => Event::Finished,
        9..=11 => Event::Chunk(vec![0; draws.number(0, 12) as usize]),
        12 => Event::ClientEnded,
        13 => Event::ClientFailed,
        _ => Event::Elapsed,
    }
}

fn head(draws: &mut Draws<'_>) -> Event {
    let status = draws.pick(&STATUSES);
    let headers = Headers::from([
        ("location", draws.pick(&LOCATIONS)),
        ("x-lb-backend", "https://forged.example"),
        ("connection", "x-nominated"),
        ("x-nominated", "1"),
        ("set-cookie", "a=b"),
    ]);
    Event::Head(ResponseHead { status, headers })
}
