//! A case on real sockets, whatever process stands between the client and the origins.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;

use crate::case::{Case, Complete, Step};
use crate::check::{groups, upstream_fault};
use crate::client::{Target, send};
use crate::evidence::{Evidence, Outcome, Progress, Recorded};
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
        network.recorder.wait(SETTLE, |recorder| settled(&group, &recorder.since(seen))).await;
        let upstream = network.recorder.since(seen);
        seen += upstream.len();
        evidence.upstream.push(upstream);
    }
}

/// What came after the last group settled belongs to it; what became of each request is known now.
pub(super) fn add_late(recorder: &Recorder, evidence: &mut Evidence) {
    let all = recorder.since(0);
    let mut rest = all.as_slice();
    let last = evidence.upstream.len().saturating_sub(1);
    for (index, group) in evidence.upstream.iter_mut().enumerate() {
        let count = if index == last { rest.len() } else { group.len().min(rest.len()) };
        let (own, later) = rest.split_at(count);
        *group = own.to_vec();
        rest = later;
    }
}

async fn play_step(step: &Step, target: &Target) -> Outcome {
    sleep(Duration::from_millis(step.after_ms)).await;
    send(target, &step.request, ANSWER).await
}

fn settled(group: &[&Step], seen: &[Recorded]) -> bool {
    let awaited = |step: &&Step| step.upstream.iter().any(|seen| seen.complete == Complete::No);
    let open = seen.iter().any(|request| request.progress == Progress::Open);
    upstream_fault(group, seen).is_none() && !(open && group.iter().any(awaited))
}
