//! How an origin's answer is framed, and heads of every size that the flags allow.

use crate::client::{self, Answer};
use crate::origin::{self, Origin, keep_answering, read_head, write};
use crate::trust::Authority;

async fn answered(answer: &'static str) -> Answer {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", move |mut stream, _| async move {
        read_head(&mut stream).await;
        write(&mut stream, answer).await;
        // Keeps the connection open until the other side has judged.
        read_head(&mut stream).await;
    })
    .await;
    client::get(origin::host(&authority, &[&origin]).address, "/ready").await
}

#[tokio::test]
async fn a_length_beside_chunks_says_nothing() {
    for answer in [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\na\r\n0123456789\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 50\r\ntransfer-encoding: Chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n",
    ] {
        let answer = answered(answer).await;
        assert_eq!((answer.status, answer.header("content-length")), (200, None));
        assert!(answer.text().contains("0123456789") && answer.ends_whole(), "{answer:?}");
    }
}

#[tokio::test]
async fn any_other_transfer_coding_than_one_chunked_is_a_fault_of_the_origin() {
    for answer in [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n4\r\ncode\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n4\r\ncode\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, chunked\r\n\r\n4\r\ncode\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\ncode",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 4\r\n\r\ncode",
    ] {
        let got = answered(answer).await;
        assert!(got.status == 503 && got.text().ends_with("(protocol)"), "{answer:?}: {got:?}");
    }
}

#[tokio::test]
async fn the_largest_head_that_the_flags_allow_reaches_the_origin() {
    let authority = Authority::new();
    let origin = Origin::new(&authority, "a.example", |stream, _| keep_answering(stream, "took it")).await;
    let host = origin::setup(&authority, &[&origin])
        .flag("--max-head-bytes", "1048576")
        .flag("--max-head-fields", "2000")
        .start();
    for (count, length) in [(1, 1_000_000), (1000, 1000), (1990, 500)] {
        let fields: String = (0..count).map(|n| format!("x-{n}: {}\r\n", "y".repeat(length))).collect();
        let mut client = client::tls(host.address).await;
        client.send(format!("GET /ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{fields}\r\n")).await;
        let answer = client.last_answer().await;
        assert_eq!((answer.status, answer.text()), (200, "took it"), "{count} fields of {length}");
    }
}
