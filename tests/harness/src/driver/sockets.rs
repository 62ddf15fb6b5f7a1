//! A case on real sockets, whatever process stands between the client and the origins.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;

use super::{add_complaints, add_late_complaints};
use crate::case::{Case, Step};
use crate::check::{groups, upstream_fault};
use crate::client::{Target, send};
use crate::evidence::{Evidence, Outcome};
use crate::origin::{Network, Recorder};

/// No answer of a case takes longer.
const ANSWER: Duration = Duration::from_secs(60);

/// How long the record of a group of steps may take to settle after the last answer.
const SETTLE: Duration = Duration::from_secs(5);

/// Plays all steps of a case and fills in what client and origins saw.
pub(super) async fn play(case: &Case, target: &Target, network: &Network, evidence: &mut Evidence) {
    let mut seen = 0;
    for group in groups(case) {
        let requests = group.iter().map(|step| play_step(step, target));
        evidence.outcomes.extend(join_all(requests).await);
        let settled = |recorder: &Recorder| upstream_fault(&group, &recorder.since(seen)).is_none();
        network.recorder.wait(SETTLE, settled).await;
        let upstream = network.recorder.since(seen);
        seen += upstream.len();
        evidence.upstream.push(upstream);
        add_complaints(&network.recorder, evidence);
    }
}

/// Ends the origins. What came after the last group settled belongs to it.
pub(super) async fn end(network: Network, evidence: &mut Evidence) {
    let known = evidence.upstream.iter().map(Vec::len).sum();
    let late = network.recorder.since(known);
    if let Some(last) = evidence.upstream.last_mut() {
        last.extend(late);
    }
    add_late_complaints(&network.recorder, evidence);
    evidence.unused = network.unused();
    evidence.crashes.extend(network.stop().await);
}

async fn play_step(step: &Step, target: &Target) -> Outcome {
    if step.clock_ms != 0 {
        return Outcome::Unplayable("the clock of the day is the system's".to_owned());
    }
    sleep(Duration::from_millis(step.after_ms)).await;
    send(target, &step.request, ANSWER).await
}
