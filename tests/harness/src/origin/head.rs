//! The head of a scripted answer.

use crate::case::{Close, ResponseFraming, Turn};
use crate::evidence::Line;

/// The header lines of an answer, framing included; `echoed` is the size of an echoed body.
pub(crate) fn answer_lines(turn: &Turn, echoed: u64, closes: bool) -> Vec<Line> {
    let mut lines: Vec<Line> =
        turn.headers.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
    lines.extend((0..turn.fill_fields).map(|n| (format!("x-fill-{n}"), b"v".to_vec())));
    if turn.fill_bytes > 0 {
        lines.push(("x-fill".to_owned(), vec![b'f'; turn.fill_bytes]));
    }
    if !has_no_body(turn) {
        let length = turn.length.unwrap_or_else(|| {
            if turn.echo { echoed } else { turn.body.as_ref().map_or(0, |body| body.len()) }
        });
        match turn.framing {
            ResponseFraming::ContentLength => {
                lines.push(("content-length".to_owned(), length.to_string().into_bytes()));
            }
            ResponseFraming::Chunked => {
                lines.push(("transfer-encoding".to_owned(), b"chunked".to_vec()));
            }
            ResponseFraming::Close => {}
        }
    }
    if closes && turn.close != Some(Close::Silent) {
        lines.push(("connection".to_owned(), b"close".to_vec()));
    }
    lines
}

/// RFC 9110 section 6.4.1: these never have a body, whatever their header says.
pub(crate) fn has_no_body(turn: &Turn) -> bool {
    matches!(turn.status, Some(204 | 304))
}
