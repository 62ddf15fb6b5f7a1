//! The component's instances: one request each at a time, kept for the life of the process.

mod answer;
mod log_stream;
mod outgoing_body;
mod pool;
mod request_body;
mod response_body;
mod state;

pub(crate) use answer::answer;
pub(crate) use pool::{Engine, Pool};
pub(crate) use request_body::RequestBody;
pub(crate) use response_body::ResponseBody;
