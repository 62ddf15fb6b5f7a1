//! The requests of a run: half of them POSTs, each with bytes of its own.

use super::dice::Dice;
use super::{ATTEMPTS, REPLAY};
use crate::case::{Body, Over, Piece, Protocol, Request, RequestFraming, Text};

const GETS: [&str; 3] = ["/ready", "/", "/api/status"];
const POSTS: [&str; 3] = ["/webhook/tg", "/push/jmap", "/api/push/register"];
const PUTS: [&str; 2] = ["/api/config", "/api/enabled"];
/// One attempt, at the first origin.
const SINGLE: &str = "/worker";

/// A request, and what the balancer may do for it.
pub(super) struct Asked {
    pub(super) id: u64,
    pub(super) request: Request,
    /// How many origins may be asked.
    pub(super) budget: usize,
}

impl Asked {
    pub(super) fn of(seed: u64, id: u64) -> Self {
        let mut dice = Dice::of(&[seed, 1, id]);
        let (method, paths): (&str, &[&str]) = match dice.below(100) {
            0..50 => ("POST", if dice.chance(4) { &[SINGLE] } else { &POSTS }),
            50..60 => ("PUT", &PUTS),
            _ => ("GET", &GETS),
        };
        let path = paths.get(dice.below(paths.len() as u64) as usize).copied().unwrap_or(SINGLE);
        let body = (method != "GET").then(|| {
            let size = size(&mut dice);
            Body(vec![Piece::Bytes(dice.bytes(size))])
        });
        let framing = if dice.chance(25) { RequestFraming::Chunked } else { RequestFraming::ContentLength };
        let request = Request {
            over: Over::Https,
            version: Protocol::Http1,
            method: method.to_owned(),
            target: format!("{path}?id={id}"),
            host: vec![Text::from("lb.example")],
            headers: vec![("x-forwarded-proto".to_owned(), Text::from("https"))],
            fill_fields: 0,
            fill_bytes: 0,
            body,
            framing,
            length: None,
            raw: None,
        };
        Self { id, request, budget: if path == SINGLE { 1 } else { ATTEMPTS } }
    }

    pub(super) fn size(&self) -> u64 {
        self.request.body.as_ref().map_or(0, Body::len)
    }

    /// Whether the body may be too large to be sent to another origin.
    pub(super) fn may_be_pinned(&self) -> bool {
        self.size() > REPLAY
    }
}

/// Around the edges: nothing, a byte, one write of a 0.2 component, the replay copy; now and then over it.
fn size(dice: &mut Dice) -> u64 {
    match dice.below(100) {
        0..10 => 0,
        10..15 => 1,
        15..65 => 50 + dice.below(3000),
        65..72 => 4096 + dice.below(2),
        72..88 => 8000 + dice.below(30_000),
        88..94 => REPLAY - dice.below(3),
        94..97 => REPLAY + 1 + dice.below(3),
        _ => REPLAY + dice.below(300_000),
    }
}

/// Which request a target belongs to, and whether it is a redirect's hop.
pub(super) fn parse(target: &[u8]) -> Option<(u64, bool)> {
    let (_, query) = std::str::from_utf8(target).ok()?.split_once("?id=")?;
    match query.split_once('&') {
        Some((id, "hop=1")) => Some((id.parse().ok()?, true)),
        Some(_) => None,
        None => Some((query.parse().ok()?, false)),
    }
}
