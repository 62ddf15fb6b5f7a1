//! h2 as a mock origin reads it.

use std::sync::Arc;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use super::connection::Listening;
use super::faults::Shared;
use super::play2::play;
use crate::case::SeenFraming;
use crate::evidence::{Content, Line, Progress, Recorded};

/// What a stream does to its whole connection.
pub(super) enum Fatal {
    Reset,
    Close,
    Goaway,
    /// After the answer, by GOAWAY and FIN once the streams are done.
    Graceful,
}

pub(super) async fn serve(tls: TlsStream<TcpStream>, listening: &Arc<Listening>) {
    let mut shared = Shared::new(tls);
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(1 << 20).initial_connection_window_size(1 << 20);
    let Ok(connection) = builder.handshake(shared.clone()).await else { return };
    let fatal = streams(connection, listening).await;
    match fatal {
        Some(Fatal::Reset) => shared.reset(),
        Some(Fatal::Goaway) => {
            let _ = shared.goaway().await;
            let _ = shared.shutdown().await;
        }
        Some(Fatal::Close | Fatal::Graceful) => {
            let _ = shared.shutdown().await;
        }
        None => {}
    }
}

/// Serves streams until the client is gone or a turn breaks the connection.
async fn streams(mut connection: Connection<Shared, Bytes>, listening: &Arc<Listening>) -> Option<Fatal> {
    let (sender, mut fatal) = mpsc::unbounded_channel();
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    streams.spawn(stream(request, respond, listening.clone(), sender.clone()));
                }
                Some(Err(_)) | None => return None,
            },
            Some(fatal) = fatal.recv() => match fatal {
                Fatal::Graceful => connection.graceful_shutdown(),
                fatal => return Some(fatal),
            },
            Some(ended) = streams.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    listening.complain(&format!("the mock panicked: {error}"));
                }
            }
        }
    }
}

async fn stream(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    listening: Arc<Listening>,
    fatal: mpsc::UnboundedSender<Fatal>,
) {
    let (head, mut body) = request.into_parts();
    let headers = lines(&head);
    let framing = if headers.iter().any(|(name, _)| name == "content-length") {
        SeenFraming::ContentLength
    } else if body.is_end_stream() {
        SeenFraming::None
    } else {
        SeenFraming::Chunked
    };
    let progress = if body.is_end_stream() { Progress::Complete } else { Progress::Open };
    if head.uri.scheme_str() != Some("https") {
        listening.complain("a request over TLS with another scheme than https");
    }
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let turn = listening.turn(target.as_bytes());
    let number = listening.recorder.begin(Recorded {
        origin: listening.url.clone(),
        method: head.method.to_string(),
        target: target.into(),
        headers,
        framing,
        body: Content::default(),
        progress,
        abandoned: false,
    });
    let mut abandoned = Abandoned { number, listening: &listening, armed: true };
    let Some((turn, closes)) = turn else {
        listening.complain("a request beyond the script");
        abandoned.armed = false;
        let _ = fatal.send(Fatal::Close);
        return;
    };
    let mut upload = Upload { number, listening: &listening, received: 0, echo: turn.echo.then(Vec::new) };
    if upload.read(&mut body, turn.read_bytes.unwrap_or(u64::MAX)).await {
        if !turn.drain {
            // What is not read from here on will never be.
            listening.recorder.end(number, Progress::Broken);
        }
        let echo = upload.echo.take();
        let played = async {
            let played = play(respond, &turn, echo.as_deref(), closes).await;
            abandoned.armed = played.is_none();
            if let Some(Some(broken)) = played {
                let _ = fatal.send(broken);
            }
        };
        if turn.drain {
            tokio::join!(played, upload.read(&mut body, u64::MAX));
        } else {
            played.await;
        }
    }
    listening.recorder.end(number, Progress::Broken);
}

/// Notes on drop that the answer did not come to its end.
struct Abandoned<'a> {
    number: usize,
    listening: &'a Listening,
    armed: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.listening.recorder.abandon(self.number);
        }
    }
}

struct Upload<'a> {
    number: usize,
    listening: &'a Listening,
    received: u64,
    echo: Option<Vec<u8>>,
}

impl Upload<'_> {
    /// Reads until the body is whole or `enough` bytes came; false when it broke off.
    async fn read(&mut self, body: &mut RecvStream, enough: u64) -> bool {
        let recorder = &self.listening.recorder;
        while self.received < enough || enough == u64::MAX {
            match body.data().await {
                Some(Ok(bytes)) => {
                    let _ = body.flow_control().release_capacity(bytes.len());
                    self.received += bytes.len() as u64;
                    recorder.body(self.number, &bytes);
                    if let Some(echo) = &mut self.echo {
                        echo.extend_from_slice(&bytes);
                    }
                }
                Some(Err(error)) => {
                    let clean = error.reason() == Some(Reason::NO_ERROR);
                    recorder.end(self.number, Progress::Broken);
                    return clean;
                }
                None => {
                    recorder.end(self.number, Progress::Complete);
                    return true;
                }
            }
        }
        true
    }
}

/// The header lines, with `:authority` as the Host that it stands for (RFC 9113 section 8.3.1).
fn lines(head: &http::request::Parts) -> Vec<Line> {
    let authority =
        head.uri.authority().map(|authority| ("host".to_owned(), authority.as_str().as_bytes().to_vec()));
    let others =
        head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
    authority.into_iter().chain(others).collect()
}
