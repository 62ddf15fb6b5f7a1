//! An exchange with its open request, and the one wait for several of them.

use super::bindings::wasi::http::types::IncomingResponse;
use super::bindings::wasi::io::poll::{Pollable, poll};
use super::client::Client;
use super::host;
use super::upstream::Upstream;
use crate::policy::exchange::{Action, Answer, Event, Exchange, Wait};
use crate::policy::health::Verdict;
use crate::policy::reply::Reply;
use crate::policy::time::Millis;
use crate::policy::upload::UploadStep;
use crate::wasi;

pub(super) struct Job<'s> {
    exchange: Exchange<'s>,
    upstream: Option<Upstream>,
    /// The response whose head the exchange was told of.
    response: Option<IncomingResponse>,
    wait: Wait,
    pub(super) ending: Option<Ending<'s>>,
    pub(super) verdict: Option<Verdict>,
}

/// What the client is told.
pub(super) enum Ending<'s> {
    Answer(Answer<'s>, IncomingResponse),
    Reply(Reply),
}

impl<'s> Job<'s> {
    pub(super) fn new(exchange: Exchange<'s>, action: Action<'s>) -> Self {
        let wait = Wait { upload: UploadStep::Idle, until: Millis::ZERO };
        let mut job = Self { exchange, upstream: None, response: None, wait, ending: None, verdict: None };
        job.perform(action);
        job
    }

    /// Performs actions until something must be waited for, or the end.
    fn perform(&mut self, mut action: Action<'s>) {
        loop {
            self.verdict = Verdict::of(&action);
            let event = match action {
                Action::Send => self.send(),
                Action::Wait(wait) if wait.upload == UploadStep::Finish => self.finish(),
                Action::Wait(wait) => {
                    self.wait = wait;
                    return;
                }
                Action::Answer(answer) => {
                    self.wait = self.exchange.waiting();
                    self.ending = self.response.take().map(|response| Ending::Answer(answer, response));
                    return;
                }
                Action::Exhausted(_, reply) | Action::Refuse(reply) => {
                    self.ending = Some(Ending::Reply(reply));
                    return;
                }
            };
            action = self.exchange.on(event, host::now());
        }
    }

    fn send(&mut self) -> Event {
        self.response = None;
        self.upstream = None;
        match Upstream::open(self.exchange.request()) {
            Ok(upstream) => {
                self.upstream = Some(upstream);
                Event::Opened
            }
            Err(class) => Event::Failed(class),
        }
    }

    fn finish(&mut self) -> Event {
        self.upstream.as_mut().map_or(Event::Finished, Upstream::finish)
    }

    /// The open request was answered, or failed.
    fn answered(&mut self) {
        let Some(outcome) = self.upstream.as_ref().and_then(Upstream::response) else {
            return;
        };
        let event = match outcome {
            Ok((head, response)) => {
                self.response = Some(response);
                Event::Head(head)
            }
            Err(class) => Event::Failed(class),
        };
        self.tell(event);
    }

    fn tell(&mut self, event: Event) {
        let action = self.exchange.on(event, host::now());
        self.perform(action);
    }

    /// When an origin whose answer was last heard at that instant has been silent for too long.
    pub(super) fn silent_at(&self, heard: Millis) -> Millis {
        self.exchange.silent_at(heard)
    }

    /// What must be ready for the upload to go on; nothing when it rests.
    pub(super) fn upload_ready<'a>(&'a self, client: &'a mut Client) -> Option<&'a Pollable> {
        match self.wait.upload {
            UploadStep::Read => client.ready(),
            UploadStep::Write => self.upstream.as_ref().and_then(Upstream::writable),
            UploadStep::Idle | UploadStep::Finish => None,
        }
    }

    /// Takes the upload one step on.
    pub(super) fn upload(&mut self, client: &mut Client) {
        let event = match self.wait.upload {
            UploadStep::Read => client.read(),
            UploadStep::Write => match &self.upstream {
                Some(upstream) => upstream.write(self.exchange.pending()),
                None => Some(Event::UploadClosed),
            },
            UploadStep::Idle | UploadStep::Finish => None,
        };
        if let Some(event) = event {
            self.tell(event);
        }
    }
}

/// What a pollable stands for.
#[derive(Clone, Copy)]
enum Source {
    Alarm,
    Answer(usize),
    Upload(usize),
}

/// Waits once, for whatever any of the jobs waits for, and tells them what happened. Only a job
/// with a client has a body to upload.
pub(super) fn wait(jobs: &mut [&mut Job<'_>], mut client: Option<&mut Client>) {
    for source in ready_sources(jobs, client.as_deref_mut()) {
        match source {
            Source::Answer(index) => {
                if let Some(job) = jobs.get_mut(index).filter(|job| job.ending.is_none()) {
                    job.answered();
                }
            }
            Source::Upload(index) => {
                let job = jobs.get_mut(index).filter(|job| job.ending.is_none());
                if let (Some(job), Some(client)) = (job, client.as_deref_mut()) {
                    job.upload(client);
                }
            }
            Source::Alarm => {
                let now = host::now();
                let open = jobs.iter_mut().filter(|job| job.ending.is_none());
                open.filter(|job| job.wait.until <= now).for_each(|job| job.tell(Event::Elapsed));
            }
        }
    }
}

/// Blocks until something is ready. Answers come first: one that is there when the clock runs out
/// counts.
fn ready_sources(jobs: &[&mut Job<'_>], client: Option<&mut Client>) -> Vec<Source> {
    let open = || jobs.iter().enumerate().filter(|(_, job)| job.ending.is_none());
    let Some(until) = open().map(|(_, job)| job.wait.until).min() else {
        return Vec::new();
    };
    let alarm = host::alarm(until);
    let mut sources = Vec::new();
    let mut pollables = Vec::new();
    for (index, job) in open() {
        if let Some(upstream) = &job.upstream {
            sources.push(Source::Answer(index));
            pollables.push(&upstream.answered);
        }
    }
    if let (Some((index, job)), Some(client)) = (open().next(), client)
        && let Some(ready) = job.upload_ready(client)
    {
        sources.push(Source::Upload(index));
        pollables.push(ready);
    }
    sources.push(Source::Alarm);
    let ready = poll_and_look_again(pollables, &alarm);
    // A host names what is ready in any order.
    sources
        .into_iter()
        .zip(0..)
        .filter(|(_, place)| ready.contains(place))
        .map(|(source, _)| source)
        .collect()
}

/// Polls these and the alarm behind them. Where the alarm alone is ready, what came in the meantime is
/// looked for once more.
fn poll_and_look_again<'a>(mut pollables: Vec<&'a Pollable>, alarm: &'a Pollable) -> Vec<u32> {
    pollables.push(alarm);
    let ready = poll(&pollables);
    let others = pollables.len() - 1;
    if others == 0 || !matches!(ready.as_slice(), [only] if *only as usize == others) {
        return ready;
    }
    let last = host::alarm(host::now() + wasi::LAST_LOOK);
    let others = pollables.iter().copied().take(others);
    poll(&others.chain([&last]).collect::<Vec<_>>())
}
