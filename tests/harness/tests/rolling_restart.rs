//! Two origins are stopped and started in turn under load, and no client sees anything of it: one is
//! always up, and what was in flight at the other moves on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests are tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use messageweave_lb_harness::case::{
    Body, ConnectionFault, Over, Piece, Protocol, Request, Text, Turn, parse,
};
use messageweave_lb_harness::client::{Kept, Target};
use messageweave_lb_harness::driver::{Component, Host, World};
use messageweave_lb_harness::evidence::{Content, Outcome, Recorded};
use messageweave_lb_harness::origin::{Behaviour, Recorder, Standing};
use tokio::task::JoinSet;

const URLS: [&str; 2] = ["https://a.example", "https://b.example:8443"];
const CLIENTS: usize = 24;
const ROUNDS: usize = 3;
/// Answers that clients get while an origin is down, and requests that one has to serve once it is back.
const WHILE_DOWN: u64 = 150;
const ONCE_BACK: usize = 30;
/// The clock of an attempt is far longer: no failover here is one of a timeout.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn no_client_of_0_2_sees_a_rolling_restart() {
    of_both_versions(World::Proxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_of_0_3_sees_a_rolling_restart() {
    of_both_versions(World::Service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_of_envoy_sees_a_rolling_restart() {
    of_both_versions(World::Envoy).await;
}

async fn of_both_versions(world: World) {
    for version in [Protocol::Http1, Protocol::Http2] {
        let (answered, moved) = restart(world, version).await.unwrap();
        println!("{world:?}, {version:?}: {answered} exact answers, {moved} requests in flight moved on");
        assert!(moved > 0, "{world:?}, {version:?}: nothing was in flight at an origin that went down");
    }
}

/// The answers, all exact, and how many of them came from a second origin.
async fn restart(world: World, version: Protocol) -> Result<(u64, usize), String> {
    let driver = Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let mut origins = Vec::new();
    for url in URLS {
        origins.push(Standing::new(url, version)?);
    }
    let resolves = origins.iter().map(Standing::resolve).collect::<Result<Vec<_>, _>>()?;
    let recorder = Arc::new(Recorder::default());
    let up = |origin: &mut Standing| {
        origin.up(driver.authority(), None, Arc::new(Backend { version }), recorder.clone())
    };
    origins.iter_mut().try_for_each(up)?;
    let host = Host::start(&driver.launch_with(environment(), &resolves)).await?;
    let load = Load::start(&driver.target(&host), version);
    for _ in 0..ROUNDS {
        for (origin, url) in origins.iter_mut().zip(URLS) {
            origin.down().await;
            load.wait(WHILE_DOWN).await?;
            let served =
                |recorder: &Recorder| recorder.since(0).iter().filter(|seen| seen.origin == url).count();
            let enough = served(&recorder) + ONCE_BACK;
            up(origin)?;
            if !recorder.wait(PATIENCE, |recorder| served(recorder) >= enough).await {
                return Err(format!("{url} is up again and gets no requests"));
            }
        }
    }
    let answered = load.stop().await?;
    host.stop().await?;
    let complaints = recorder.complaints();
    if !complaints.is_empty() {
        return Err(complaints.join("; "));
    }
    moved(&recorder.since(0)).map(|moved| (answered, moved))
}

/// How many requests reached both origins; none may reach one twice, or without its whole body.
fn moved(seen: &[Recorded]) -> Result<usize, String> {
    let mut origins: BTreeMap<&[u8], Vec<&Recorded>> = BTreeMap::new();
    seen.iter().for_each(|record| origins.entry(&record.target).or_default().push(record));
    for (target, records) in &origins {
        let id = id(target).ok_or("an odd target")?;
        let twice = matches!(records.as_slice(), [one, other] if one.origin == other.origin);
        let whole = records.last().is_some_and(|last| last.body == content(id));
        if records.len() > 2 || twice || !whole {
            return Err(format!("request {id}: {records:?}"));
        }
    }
    Ok(origins.values().filter(|records| records.len() == 2).count())
}

fn environment() -> BTreeMap<String, String> {
    let case = r#"
why = "2.6: the variables alone"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example", "https://b.example:8443"]'
LB_REQUEST_TIMEOUT_MS = "20000"
[[step]]
request = { target = "/" }
answer = { status = 200 }
"#;
    parse("environment", case).unwrap().env
}

/// Echoes, after a while in which it may be stopped. Over h2 it answers by a head alone: only an answer
/// of one frame cannot be cut by the end of its connection.
struct Backend {
    version: Protocol,
}

impl Behaviour for Backend {
    fn connection(&self) -> Option<ConnectionFault> {
        None
    }

    fn request(&self, target: &[u8]) -> Option<(Turn, bool)> {
        let echo = self.version == Protocol::Http1;
        let status = Some(if echo { 200 } else { 204 });
        let delay_ms = id(target)? % 4 * 5;
        Some((Turn { status, echo, delay_ms, drain: true, ..Turn::default() }, false))
    }
}

fn id(target: &[u8]) -> Option<u64> {
    std::str::from_utf8(target).ok()?.split_once("?id=")?.1.parse().ok()
}

/// Two of three are POSTs.
fn request(id: u64) -> Request {
    let step = parse(
        "request",
        "why = \"a request\"\n[env]\n[[step]]\nrequest = { target = \"/ready\" }\nanswer = { status = 200 }\n",
    );
    let mut request = step.unwrap().step.swap_remove(0).request;
    request.target = format!("/ready?id={id}");
    if let Some(body) = body(id) {
        request.method = "POST".to_owned();
        request.target = format!("/webhook/tg?id={id}");
        request.body = Some(body);
    }
    request.headers = vec![("x-id".to_owned(), Text::from(id.to_string().as_str()))];
    request
}

fn body(id: u64) -> Option<Body> {
    let text = format!("{id},").into_bytes();
    (!id.is_multiple_of(3)).then(|| Body(vec![Piece::Repeat { text, bytes: id * 37 % 40_000 }]))
}

fn content(id: u64) -> Content {
    body(id).map_or_else(Content::default, |body| Content::of(&body, u64::MAX))
}

/// Clients that ask until they are stopped or one of them sees a failure.
struct Load {
    answered: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    clients: JoinSet<Result<(), String>>,
}

impl Load {
    fn start(target: &Target, version: Protocol) -> Self {
        let (next, answered, over) = (Arc::new(AtomicU64::new(0)), Arc::default(), Arc::default());
        let mut load = Self { answered, over, clients: JoinSet::new() };
        for _ in 0..CLIENTS {
            let client = Kept::new(target.clone(), Over::Https, version);
            load.clients.spawn(ask(client, version, next.clone(), load.answered.clone(), load.over.clone()));
        }
        load
    }

    /// Waits for so many answers more; fewer come if a client sees a failure.
    async fn wait(&self, count: u64) -> Result<(), String> {
        let enough = self.answered.load(Ordering::Relaxed) + count;
        let come = async {
            while self.answered.load(Ordering::Relaxed) < enough && !self.over.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, come).await.map_err(|_| "the load does not move".to_owned())
    }

    async fn stop(mut self) -> Result<u64, String> {
        self.over.store(true, Ordering::Relaxed);
        while let Some(client) = self.clients.join_next().await {
            client.map_err(|error| error.to_string())??;
        }
        Ok(self.answered.load(Ordering::Relaxed))
    }
}

async fn ask(
    mut client: Kept,
    version: Protocol,
    next: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
) -> Result<(), String> {
    let (status, echo) = if version == Protocol::Http1 { (200, true) } else { (204, false) };
    while !over.load(Ordering::Relaxed) {
        let id = next.fetch_add(1, Ordering::Relaxed);
        let outcome = client.send(&request(id), PATIENCE).await;
        let expected = if echo { content(id) } else { Content::default() };
        match &outcome {
            Outcome::Answer(answer)
                if answer.status == status && answer.broken.is_none() && answer.body == expected =>
            {
                answered.fetch_add(1, Ordering::Relaxed);
            }
            _ => {
                over.store(true, Ordering::Relaxed);
                return Err(format!("request {id}: {outcome:?}"));
            }
        }
    }
    Ok(())
}
