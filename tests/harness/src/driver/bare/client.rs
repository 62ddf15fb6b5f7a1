//! The client's body on the virtual clock.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use crate::case::{Ending, Piece, Request};
use crate::client::length;

/// What the balancer can see of the client's body.
pub(super) enum FromClient {
    Chunk(Vec<u8>),
    Ended,
    Left,
}

pub(super) struct Client {
    pub(super) body: mpsc::UnboundedReceiver<FromClient>,
    /// The connection is gone.
    pub(super) gone: Rc<Notify>,
}

/// The most that a host hands on at once.
const RUN: usize = 64 * 1024;

impl Client {
    pub(super) fn start(request: &Request) -> Self {
        let (sender, body) = mpsc::unbounded_channel();
        let gone = Rc::new(Notify::new());
        tokio::task::spawn_local(play(request.clone(), sender, gone.clone()));
        Self { body, gone }
    }
}

async fn play(request: Request, sender: mpsc::UnboundedSender<FromClient>, gone: Rc<Notify>) {
    let body = request.body.as_ref();
    let mut left = length(&request).or(body.is_none().then_some(0));
    for piece in body.iter().flat_map(|body| &body.0) {
        end_if_whole(left, &sender);
        match piece {
            Piece::Pause(time) => sleep(Duration::from_millis(*time)).await,
            Piece::End(Ending::Stall) => return sender.closed().await,
            Piece::End(Ending::Close | Ending::Reset) => {
                let _ = sender.send(FromClient::Left);
                // What came before is read first.
                sleep(Duration::from_millis(1)).await;
                return gone.notify_one();
            }
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(RUN) {
                    left = left.map(|left| left.saturating_sub(run.len() as u64));
                    let _ = sender.send(FromClient::Chunk(run));
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    end_if_whole(left.or(Some(0)), &sender);
    sender.closed().await;
}

/// A body is whole as soon as its declared length is there; only chunks need an end of their own.
fn end_if_whole(left: Option<u64>, sender: &mpsc::UnboundedSender<FromClient>) {
    if left == Some(0) {
        let _ = sender.send(FromClient::Ended);
    }
}
