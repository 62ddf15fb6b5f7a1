//! What every contender is asked to do, and the only answer that counts.

use messageweave_lb_harness::load::Ask;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A path that is not forwarded.
    NotFound,
    /// A forwarded answer of 24 bytes.
    Small,
    /// A forwarded answer of 64 KiB.
    Large,
    /// An upload of 4 KiB; the origin compares every byte.
    Post,
    /// The same where the first of the two origins always answers 503: of two requests, one is
    /// sent twice.
    Failover,
}

/// The small answer.
pub const SMALL: &[u8; 24] = b"{\"enabled\":true,\"n\":123}";
/// Bytes of the large answer.
pub const LARGE: usize = 64 * 1024;
/// Bytes of an upload.
pub const UPLOAD: usize = 4 * 1024;
/// Where uploads go that every origin takes.
pub const POST_PATH: &str = "/webhook/tg";
/// Where uploads go that the first origin answers with 503.
pub const FAILOVER_PATH: &str = "/push/jmap";

impl Work {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::NotFound, Self::Small, Self::Large, Self::Post, Self::Failover];

    /// The name in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "local 404",
            Self::Small => "GET, 24 bytes",
            Self::Large => "GET, 64 KiB",
            Self::Post => "POST of 4 KiB",
            Self::Failover => "POST of 4 KiB, first origin fails",
        }
    }

    /// What the client sends, and the answer that counts.
    #[must_use]
    pub fn ask(self) -> Ask {
        let (head, upload) = match self {
            Self::NotFound => ("GET /not-forwarded HTTP/1.1", None),
            Self::Small => ("GET /ready HTTP/1.1", None),
            Self::Large => ("GET / HTTP/1.1", None),
            Self::Post => ("POST /webhook/tg HTTP/1.1", Some(upload())),
            Self::Failover => ("POST /push/jmap HTTP/1.1", Some(upload())),
        };
        let mut request = format!(
            "{head}\r\nhost: lb.example\r\nx-forwarded-proto: https\r\nuser-agent: bench\r\naccept: */*\r\n"
        )
        .into_bytes();
        if let Some(upload) = &upload {
            request.extend_from_slice(format!("content-length: {}\r\n", upload.len()).as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        request.extend(upload.unwrap_or_default());
        match self {
            Self::NotFound => Ask { request, status: 404, body: None },
            Self::Large => Ask { request, status: 200, body: Some(large()) },
            Self::Small | Self::Post | Self::Failover => {
                Ask { request, status: 200, body: Some(SMALL.to_vec()) }
            }
        }
    }
}

/// The large answer.
#[must_use]
pub fn large() -> Vec<u8> {
    pattern(LARGE)
}

/// What is uploaded.
#[must_use]
pub fn upload() -> Vec<u8> {
    pattern(UPLOAD)
}

/// No two neighbours alike, so that a chunk in the wrong place shows.
fn pattern(length: usize) -> Vec<u8> {
    (b' '..=b'~').cycle().take(length).collect()
}
