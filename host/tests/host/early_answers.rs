//! Origins that answer before they have read the upload, and close.

use tokio::io::AsyncWriteExt;

use crate::client::{self, Answer};
use crate::origin::{self, Origin, read_head, write};
use crate::trust::Authority;

/// What a client gets for an upload of 1 MB to an origin that writes this at once and closes, with
/// the upload unread: its system then resets the connection.
async fn uploading_to(answer: &'static str) -> Vec<Answer> {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", move |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, answer).await;
    })
    .await;
    let host = origin::host(&authority, &[&origin]);
    let body = vec![b'x'; 1_000_000];
    let head = "POST /webhook/tg HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n";
    let mut answers = Vec::new();
    // Whether the reset comes before the answer is read is a matter of timing.
    for _ in 0..20 {
        let mut client = client::tls(host.address).await;
        client.send(head).await;
        // The host may answer before it has the whole.
        let _ = client.0.write_all(&body).await;
        answers.push(client.last_answer().await);
    }
    answers
}

#[tokio::test]
async fn an_early_answer_survives_the_close_that_follows_it() {
    let answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig";
    for answer in uploading_to(answer).await {
        assert_eq!((answer.status, answer.text()), (413, "big"));
    }
}

#[tokio::test]
async fn an_early_answer_that_is_cut_is_not_whole() {
    let answer = "HTTP/1.1 413 Too Large\r\ntransfer-encoding: chunked\r\n\r\n3\r\nbig\r\n";
    for answer in uploading_to(answer).await {
        assert!(answer.status == 413 && !answer.ends_whole(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_close_without_an_answer_is_a_reset() {
    for answer in uploading_to("").await {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.text().ends_with("(reset)"), "{answer:?}");
    }
}
