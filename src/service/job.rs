//! An exchange with its open request and its client.

use super::bindings::wasi::http::types::Response;
use super::client::Client;
use super::host::{self, Alarm};
use super::replay::ReplayCopy;
use super::upstream::Upstream;
use crate::policy::exchange::{Action, Answer, Event, Exchange, Wait};
use crate::policy::health::Verdict;
use crate::policy::reply::Reply;
use crate::policy::upload::UploadStep;
use std::future::poll_fn;
use std::task::{Context, Poll};

pub(super) struct Job {
    exchange: Exchange<'static>,
    upstream: Option<Upstream>,
    /// A probe has none.
    client: Option<Client>,
    /// The response whose head the exchange was told of.
    response: Option<Response>,
    alarm: Alarm,
    /// Given back behind the exchange, which holds the copy.
    _copy: ReplayCopy,
}

/// What the client is told.
pub(super) enum Ending {
    Answer(Answer<'static>, Option<Response>),
    Reply(Reply),
}

impl Job {
    pub(super) fn new(exchange: Exchange<'static>, client: Option<Client>, copy: ReplayCopy) -> Self {
        Self { exchange, upstream: None, client, response: None, alarm: Alarm::default(), _copy: copy }
    }

    /// Performs actions up to the answer; the second is a probe's verdict.
    pub(super) async fn run(&mut self, mut action: Action<'static>) -> (Ending, Option<Verdict>) {
        loop {
            let verdict = Verdict::of(&action);
            let event = match action {
                Action::Send => self.send(),
                Action::Wait(wait) => self.wait(wait).await,
                Action::Answer(answer) => return (Ending::Answer(answer, self.response.take()), verdict),
                Action::Exhausted(_, reply) | Action::Refuse(reply) => {
                    return (Ending::Reply(reply), verdict);
                }
            };
            action = self.exchange.on(event, host::now());
        }
    }

    /// Whether the client expects a head alone.
    pub(super) fn wants_no_body(&self) -> bool {
        self.client.as_ref().is_some_and(Client::wants_no_body)
    }

    /// The rest of the upload, once the answer is given.
    pub(super) async fn upload(&mut self) {
        loop {
            let step = self.exchange.waiting().upload;
            let event = match step {
                UploadStep::Idle => return,
                UploadStep::Finish => self.finish(),
                UploadStep::Read | UploadStep::Write => poll_fn(|cx| self.poll_upload(cx, step)).await,
            };
            // After the answer there is nothing to do but wait.
            let _ = self.exchange.on(event, host::now());
        }
    }

    /// The open request, to be kept to its end.
    pub(super) fn into_upstream(self) -> Option<Upstream> {
        self.upstream
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

    async fn wait(&mut self, wait: Wait) -> Event {
        if wait.upload == UploadStep::Finish {
            return self.finish();
        }
        poll_fn(|cx| self.poll(cx, wait)).await
    }

    /// Answers come first: one that is there when the clock runs out counts.
    fn poll(&mut self, cx: &mut Context<'_>, wait: Wait) -> Poll<Event> {
        if let Some(upstream) = &mut self.upstream
            && let Poll::Ready((event, response)) = upstream.poll_answer(cx)
        {
            self.response = response;
            return Poll::Ready(event);
        }
        if let Poll::Ready(event) = self.poll_upload(cx, wait.upload) {
            return Poll::Ready(event);
        }
        self.alarm.poll(cx, wait.until).map(|()| Event::Elapsed)
    }

    fn poll_upload(&mut self, cx: &mut Context<'_>, step: UploadStep) -> Poll<Event> {
        match (step, &mut self.client, &mut self.upstream) {
            (UploadStep::Read, Some(client), _) => client.poll_read(cx),
            (UploadStep::Write, _, Some(upstream)) => upstream.poll_write(cx, self.exchange.pending()),
            (UploadStep::Read, None, _) => Poll::Ready(Event::ClientFailed),
            (UploadStep::Write, _, None) => Poll::Ready(Event::UploadClosed),
            (UploadStep::Idle | UploadStep::Finish, ..) => Poll::Pending,
        }
    }
}
