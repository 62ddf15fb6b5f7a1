//! A case: one fact about the balancer as data. `tests/cases/README.md` is the reference of the
//! format; unknown keys are errors everywhere, so that a misspelt expectation cannot pass unread.

mod content;
mod exceptions;
mod expect;
mod load;
mod origin;
mod place;
mod request;
mod validate;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use content::{Body, Ending, HeaderField, Piece, Text};
pub use exceptions::{Exception, Exceptions};
pub use expect::{Answer, Arrival, Complete, Ends, LogLines, Seen, SeenFraming, Within};
pub use load::{cases_directory, load_all, load_file, parse};
pub use origin::{Close, ConnectionFault, Origin, Protocol, RequestFault, ResponseFraming, Turn, Unreached};
pub use place::{Place, Whole};
pub use request::{Over, Request, RequestFraming};

/// One file of the corpus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// `<topic>/<fact>`, taken from the path of the file.
    #[serde(skip)]
    pub name: String,
    /// Why the case exists: the section of the contract or the trap that it holds.
    pub why: String,
    /// The origin that must be the random start.
    pub first: Option<String>,
    /// The balancer's environment, whole.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The scripted origins.
    #[serde(default)]
    pub origin: Vec<Origin>,
    /// The requests, in order, all to one instance of the host.
    pub step: Vec<Step>,
    /// What the balancer must and must never log.
    #[serde(default)]
    pub log: LogLines,
}

/// One request, its answer, and what the origins must have seen of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time to pass before the request is sent.
    #[serde(default)]
    pub after_ms: u64,
    /// By how much the clock of the day steps first, forward or back; only a virtual one does.
    #[serde(default)]
    pub clock_ms: i64,
    /// Sent together with the step before it instead of after its answer.
    #[serde(default)]
    pub with_previous: bool,
    /// The order of `upstream` does not matter.
    #[serde(default)]
    pub any_order: bool,
    /// What the client sends.
    pub request: Request,
    /// What the client must get.
    pub answer: Answer,
    /// Exactly the requests that the origins must have seen, in order.
    #[serde(default)]
    pub upstream: Vec<Seen>,
}
