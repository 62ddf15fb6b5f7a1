//! Performs the actions of an exchange on the simulated network.

use messageweave_lb::policy::exchange::{Action, Answer, Event, Exchange, Wait};
use messageweave_lb::policy::health::Verdict;
use messageweave_lb::policy::reply::Reply;
use messageweave_lb::policy::upload::UploadStep;
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use messageweave_lb::policy::time::Millis;

use super::client::{Client, FromClient};
use super::origin::{Answered, FromOrigin, Upstream};
use super::step::backend_line;
use super::world::World;
use crate::evidence::{Outcome, Received};

/// An exchange under way.
pub(super) struct Run<'s> {
    pub(super) world: &'s World,
    pub(super) exchange: Exchange<'s>,
    pub(super) upstream: Option<Upstream>,
}

pub(super) enum Ending<'s> {
    Answer(Box<Relay<'s>>),
    Reply(Reply, Verdict),
    /// The client left: nobody is there for the reply.
    Gone,
}

/// An answer on its way to the client.
pub(super) struct Relay<'s> {
    run: Run<'s>,
    pub(super) answer: Answer<'s>,
    body: mpsc::Receiver<FromOrigin>,
}

impl<'s> Run<'s> {
    pub(super) async fn finish(
        mut self,
        mut action: Action<'s>,
        mut client: Option<&mut Client>,
    ) -> Ending<'s> {
        let mut body = None;
        let mut left = false;
        loop {
            let verdict = Verdict::of(&action);
            let event = match action {
                Action::Send => self.send(),
                Action::Wait(wait) => match self.wait(wait, client.as_deref_mut()).await {
                    Waited::Event(event) => event,
                    Waited::Answered(answered) => {
                        body = Some(answered.body);
                        Event::Head(answered.head)
                    }
                },
                Action::Answer(answer) => match body.take() {
                    Some(body) => return Ending::Answer(Box::new(Relay { run: self, answer, body })),
                    None => return Ending::Gone,
                },
                Action::Refuse(_) if left => return Ending::Gone,
                Action::Refuse(reply) => return Ending::Reply(reply, Verdict::DOWN),
                Action::Exhausted(_, reply) => {
                    return Ending::Reply(reply, verdict.unwrap_or(Verdict::DOWN));
                }
            };
            left = matches!(event, Event::ClientFailed);
            action = self.exchange.on(event, self.world.now());
        }
    }

    fn send(&mut self) -> Event {
        self.upstream = None;
        match Upstream::open(self.world, self.exchange.request()) {
            Ok(upstream) => {
                self.upstream = Some(upstream);
                Event::Opened
            }
            Err(class) => Event::Failed(class),
        }
    }

    /// Waits for one event. Answers come first: one that is there when the clock runs out counts.
    async fn wait(&mut self, wait: Wait, client: Option<&mut Client>) -> Waited {
        let (mut head, mut upload) = (None, None);
        if let Some(upstream) = &mut self.upstream {
            (head, upload) = (Some(&mut upstream.head), Some(&mut upstream.upload));
        }
        let head = async {
            match head {
                Some(head) => head.await,
                None => std::future::pending().await,
            }
        };
        let alarm = sleep_until(self.world.at(wait.until));
        tokio::select! {
            biased;
            answered = head => match answered {
                Ok(Ok(answered)) => Waited::Answered(answered),
                Ok(Err(class)) => Waited::Event(Event::Failed(class)),
                Err(_) => Waited::Event(Event::Elapsed),
            },
            event = upload_step(wait.upload, self.exchange.pending(), upload, client) => {
                Waited::Event(event)
            }
            () = alarm => Waited::Event(Event::Elapsed),
        }
    }
}

enum Waited {
    Event(Event),
    Answered(Answered),
}

type UploadSender = Option<mpsc::Sender<Option<Vec<u8>>>>;

/// One step of the upload; for ever when it rests.
async fn upload_step(
    step: UploadStep,
    pending: &[u8],
    upload: Option<&mut UploadSender>,
    client: Option<&mut Client>,
) -> Event {
    match (step, client) {
        (UploadStep::Read, Some(client)) => match client.body.recv().await {
            Some(FromClient::Chunk(bytes)) => Event::Chunk(bytes),
            Some(FromClient::Ended) => Event::ClientEnded,
            Some(FromClient::Left) | None => Event::ClientFailed,
        },
        (UploadStep::Write, _) => match upload.and_then(|upload| upload.as_ref()) {
            Some(upload) => match upload.reserve().await {
                Ok(room) => {
                    room.send(Some(pending.to_vec()));
                    Event::Took(pending.len())
                }
                Err(_) => Event::UploadClosed,
            },
            None => std::future::pending().await,
        },
        (UploadStep::Finish, _) => {
            if let Some(Some(upload)) = upload
                && let Ok(room) = upload.reserve().await
            {
                room.send(None);
            }
            Event::Finished
        }
        _ => std::future::pending().await,
    }
}

impl Relay<'_> {
    /// Streams the body to the client, beside what is left of the upload.
    pub(super) async fn relay(mut self, client: &mut Client, begun: Millis) -> Outcome {
        let world = self.run.world;
        let spent = || (world.now() - begun).0;
        let mut headers = self.answer.headers.as_slice().to_vec();
        headers.push(backend_line(self.answer.backend.as_str()));
        let mut received =
            Received { status: self.answer.status, headers, head_ms: spent(), ..Received::default() };
        received.broken = loop {
            if !self.answer.has_body {
                break None;
            }
            match self.next(client).await {
                Some(FromOrigin::Bytes(bytes)) => {
                    received.body.push(&bytes);
                    received.arrivals.push((received.body.len(), spent()));
                }
                Some(FromOrigin::Ended) => break None,
                Some(FromOrigin::Broken) => break Some("the origin broke off".to_owned()),
                None => break Some("the origin is silent".to_owned()),
            }
        };
        received.whole_ms = spent();
        Outcome::Answer(received)
    }

    /// The next of the body; `None` when the origin is silent for too long.
    async fn next(&mut self, client: &mut Client) -> Option<FromOrigin> {
        let world = self.run.world;
        let heard = world.now();
        loop {
            let silence = sleep_until(world.at(self.run.exchange.silent_at(heard)));
            let wait = self.run.exchange.waiting();
            let upload = self.run.upstream.as_mut().map(|upstream| &mut upstream.upload);
            let event = tokio::select! {
                biased;
                event = self.body.recv() => return event.or(Some(FromOrigin::Broken)),
                event = upload_step(wait.upload, self.run.exchange.pending(), upload, Some(client)) => event,
                () = silence => return None,
            };
            let _ = self.run.exchange.on(event, world.now());
        }
    }
}
