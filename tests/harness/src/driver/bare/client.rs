//! The client's body on the virtual clock.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use crate::case::{Ending, Piece, Request, RequestFraming};

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
    let body = request.body.unwrap_or_default();
    for piece in &body.0 {
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
                    let _ = sender.send(FromClient::Chunk(run));
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    let declared = request.length.filter(|_| request.framing == RequestFraming::ContentLength);
    if declared.is_none_or(|length| length <= body.len()) {
        let _ = sender.send(FromClient::Ended);
    }
    sender.closed().await;
}
