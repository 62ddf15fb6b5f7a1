//! Plays one turn on an HTTP/1.1 connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::head::{answer_lines, has_no_body};
use crate::case::{Body, Ending, Piece, RequestFault, ResponseFraming, Turn};

/// What becomes of the connection after a turn.
pub(super) enum After {
    Next,
    Close,
    Reset,
}

/// How many bytes of a repeated text go out in one write.
const RUN: usize = 64 * 1024;

const HALF_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: te";
const GARBAGE: &[u8] = b"SSH-2.0-mock\r\n\x00\x01\x02\r\n\r\n";

pub(super) async fn play(
    writer: &mut (impl AsyncWrite + Unpin),
    turn: &Turn,
    echo: Option<&[u8]>,
    closes: bool,
) -> io::Result<After> {
    tokio::time::sleep(Duration::from_millis(turn.delay_ms)).await;
    let Some(status) = turn.status else {
        return match turn.fault {
            Some(fault) => break_request(writer, fault).await,
            None => Ok(After::Close),
        };
    };
    for interim in &turn.interim {
        let head = format!("HTTP/1.1 {interim} Interim\r\n\r\n");
        writer.write_all(head.as_bytes()).await?;
    }
    let echoed = echo.map_or(0, |bytes| bytes.len() as u64);
    let mut head = format!("HTTP/1.1 {status:03} Scripted\r\n").into_bytes();
    for (name, value) in answer_lines(turn, echoed, closes || turn.framing == ResponseFraming::Close) {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(&value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    writer.write_all(&head).await?;
    writer.flush().await?;
    let after = if has_no_body(turn) { None } else { send_body(writer, turn, echo).await? };
    writer.flush().await?;
    let closes = closes || turn.framing == ResponseFraming::Close;
    Ok(after.unwrap_or(if closes { After::Close } else { After::Next }))
}

async fn break_request(writer: &mut (impl AsyncWrite + Unpin), fault: RequestFault) -> io::Result<After> {
    let bytes = match fault {
        RequestFault::HalfHead | RequestFault::HalfHeadReset | RequestFault::HalfHeadSilence => HALF_HEAD,
        RequestFault::Garbage => GARBAGE,
        _ => b"",
    };
    writer.write_all(bytes).await?;
    writer.flush().await?;
    match fault {
        RequestFault::Reset | RequestFault::HalfHeadReset => Ok(After::Reset),
        RequestFault::Silence | RequestFault::HalfHeadSilence => std::future::pending().await,
        _ => Ok(After::Close),
    }
}

async fn send_body(
    writer: &mut (impl AsyncWrite + Unpin),
    turn: &Turn,
    echo: Option<&[u8]>,
) -> io::Result<Option<After>> {
    let chunked = turn.framing == ResponseFraming::Chunked;
    let echoed = echo.map(|bytes| Body(vec![Piece::Bytes(bytes.to_vec())]));
    let none = Body::default();
    for piece in &echoed.as_ref().or(turn.body.as_ref()).unwrap_or(&none).0 {
        match piece {
            Piece::Pause(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
            Piece::End(Ending::Stall) => std::future::pending().await,
            Piece::End(Ending::Close) => return Ok(Some(After::Close)),
            Piece::End(Ending::Reset) => return Ok(Some(After::Reset)),
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(RUN) {
                    send_run(writer, &run, chunked).await?;
                }
            }
        }
    }
    if chunked {
        writer.write_all(b"0\r\n\r\n").await?;
    }
    Ok(None)
}

async fn send_run(writer: &mut (impl AsyncWrite + Unpin), run: &[u8], chunked: bool) -> io::Result<()> {
    if chunked {
        let mut chunk = format!("{:x}\r\n", run.len()).into_bytes();
        chunk.extend_from_slice(run);
        chunk.extend_from_slice(b"\r\n");
        writer.write_all(&chunk).await?;
    } else {
        writer.write_all(run).await?;
    }
    writer.flush().await
}
