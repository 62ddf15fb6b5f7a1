//! How a host of `wasi:http` 0.3 tells the component that a client has gone.
//!
//! The component model has a way to cancel a task, but wasmtime offers its embedders no call for
//! it yet. So a host that shares an instance between clients fails the requests to origins that
//! it made for one who left, and says why in the text of `internal-error`. No origin failed: the
//! shell reports it as the client's end.

/// The text of the `internal-error` that stands for the cancellation of the task.
pub const CLIENT_GONE: &str = "messageweave-lb: client gone";
