//! Writes a request byte for byte.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::case::{Body, Ending, Piece, Request, RequestFraming};

/// How the client's side of the request ends.
pub(super) enum Sent {
    /// With everything sent, or with silence.
    Waiting,
    Closed,
    Reset,
}

const RUN: usize = 64 * 1024;

pub(super) async fn write(writer: &mut (impl AsyncWrite + Unpin), request: &Request) -> io::Result<Sent> {
    if let Some(raw) = &request.raw {
        return Ok(write_body(writer, raw, false).await?.unwrap_or(Sent::Waiting));
    }
    writer.write_all(&head(request)).await?;
    writer.flush().await?;
    let Some(body) = &request.body else { return Ok(Sent::Waiting) };
    let chunked = request.framing == RequestFraming::Chunked;
    let ending = write_body(writer, body, chunked).await?;
    if chunked && ending.is_none() {
        writer.write_all(b"0\r\n\r\n").await?;
        writer.flush().await?;
    }
    Ok(ending.unwrap_or(Sent::Waiting))
}

/// The header lines besides Host and framing, fill included.
pub(crate) fn lines(request: &Request) -> Vec<(String, Vec<u8>)> {
    let own = request.headers.iter().map(|(name, value)| (name.clone(), value.0.clone()));
    let fill = (0..request.fill_fields).map(|n| (format!("x-fill-{n}"), b"v".to_vec()));
    let mut lines: Vec<_> = own.chain(fill).collect();
    if request.fill_bytes > 0 {
        lines.push(("x-fill".to_owned(), vec![b'f'; request.fill_bytes]));
    }
    lines
}

/// The declared length of the body, where it is declared.
pub(crate) fn length(request: &Request) -> Option<u64> {
    let body = request.body.as_ref()?;
    (request.framing == RequestFraming::ContentLength).then(|| request.length.unwrap_or_else(|| body.len()))
}

fn head(request: &Request) -> Vec<u8> {
    let hosts = request.host.iter().map(|host| ("host".to_owned(), host.0.clone()));
    let mut all: Vec<(String, Vec<u8>)> = hosts.chain(lines(request)).collect();
    if let Some(length) = length(request) {
        all.push(("content-length".to_owned(), length.to_string().into_bytes()));
    } else if request.body.is_some() {
        all.push(("transfer-encoding".to_owned(), b"chunked".to_vec()));
    }
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target).into_bytes();
    for (name, value) in all {
        for part in [name.as_bytes(), b": ", &value, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Writes what is scripted; the ending, where there is one.
async fn write_body(
    writer: &mut (impl AsyncWrite + Unpin),
    body: &Body,
    chunked: bool,
) -> io::Result<Option<Sent>> {
    for piece in &body.0 {
        match piece {
            Piece::Pause(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
            Piece::End(Ending::Stall) => return Ok(Some(Sent::Waiting)),
            Piece::End(Ending::Close) => return Ok(Some(Sent::Closed)),
            Piece::End(Ending::Reset) => return Ok(Some(Sent::Reset)),
            Piece::Bytes(_) | Piece::Repeat { .. } => {
                for run in piece.runs(RUN) {
                    if chunked {
                        writer.write_all(format!("{:x}\r\n", run.len()).as_bytes()).await?;
                    }
                    writer.write_all(&run).await?;
                    if chunked {
                        writer.write_all(b"\r\n").await?;
                    }
                    writer.flush().await?;
                }
            }
        }
    }
    Ok(None)
}
