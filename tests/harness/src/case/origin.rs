//! What the origins of a case do: one script per origin, one turn per request or broken connection.

use serde::Deserialize;

use super::{Body, HeaderField};

/// One scripted origin.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// `https://<host>` or `https://<host>:<port>`, spelt as the balancer spells it.
    pub url: String,
    /// The protocol that the origin offers by ALPN.
    #[serde(default)]
    pub version: Protocol,
    /// No connection ever reaches the origin, for this reason. It has no script then.
    pub connect: Option<Unreached>,
    /// What the origin does, in the order of the requests and connections that it gets.
    #[serde(default)]
    pub script: Vec<Turn>,
}

/// The version of HTTP on one side.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    Http1,
    /// h2, over TLS by ALPN.
    #[serde(rename = "2")]
    Http2,
}

/// Why no connection reaches an origin.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Unreached {
    /// Nobody listens on the port.
    Refused,
    /// The network has no route.
    Unreachable,
    /// The name has no address.
    Unresolvable,
}

/// One turn of an origin: a broken connection, a broken request, or an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The next connection is broken like this; no request is seen.
    pub connection: Option<ConnectionFault>,
    /// The next request is broken like this in place of an answer.
    pub fault: Option<RequestFault>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Interim answers (1xx) before it.
    #[serde(default)]
    pub interim: Vec<u16>,
    /// The header lines of the answer, in order.
    #[serde(default)]
    pub headers: Vec<HeaderField>,
    /// So many more header lines, `x-fill-<n>: v`.
    #[serde(default)]
    pub fill_fields: usize,
    /// One more header line, `x-fill`, of so many bytes.
    #[serde(default)]
    pub fill_bytes: usize,
    /// The body of the answer.
    pub body: Option<Body>,
    /// The body of the answer is that of the request.
    #[serde(default)]
    pub echo: bool,
    /// How the body is delimited.
    #[serde(default)]
    pub framing: ResponseFraming,
    /// The content-length that is declared, where it is not that of the body.
    pub length: Option<u64>,
    /// How long the turn waits, after what it reads of the request.
    #[serde(default)]
    pub delay_ms: u64,
    /// How much of the request's body is read before the turn goes on. Absent: all of it.
    pub read_bytes: Option<u64>,
    /// Whether what is left of the request's body is read after the answer.
    #[serde(default = "yes")]
    pub drain: bool,
    /// The connection is closed after the answer.
    pub close: Option<Close>,
    /// The last turn of a script may serve every further request.
    #[serde(default)]
    pub repeat: bool,
}

/// How a connection breaks before it carries a request.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionFault {
    /// Accepted, then RST.
    Reset,
    /// Accepted, then FIN in answer to the first bytes of the handshake.
    Close,
    /// Accepted, then not a byte.
    Silent,
    /// A certificate of a trusted authority for another name.
    WrongName,
    /// A certificate for the right name that nobody vouches for.
    SelfSigned,
    /// A certificate of a trusted authority that has expired.
    Expired,
    /// Plain http on the TLS port.
    PlainHttp,
}

/// How a request breaks before its answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RequestFault {
    /// RST before a head.
    Reset,
    /// FIN before a head.
    Close,
    /// No answer, ever; the connection stays.
    Silence,
    /// Half a head, then FIN.
    HalfHead,
    /// Half a head, then RST.
    HalfHeadReset,
    /// Half a head, then silence.
    HalfHeadSilence,
    /// Bytes that are no HTTP in place of a head, then FIN.
    Garbage,
    /// h2: GOAWAY that excludes the request.
    Goaway,
    /// h2: RST_STREAM with REFUSED_STREAM.
    RefusedStream,
    /// h2: RST_STREAM with INTERNAL_ERROR.
    RstStream,
}

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseFraming {
    /// `content-length`.
    #[default]
    ContentLength,
    /// `transfer-encoding: chunked`, one chunk per piece.
    Chunked,
    /// Neither: the end of the connection is the end of the body.
    Close,
}

/// How a connection ends after an answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// With `connection: close` on the answer.
    Announced,
    /// Without a word.
    Silent,
}

fn yes() -> bool {
    true
}
