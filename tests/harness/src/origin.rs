//! Mock https origins that play what a case scripts, strictly: whatever a well-behaved client must
//! not do is a complaint, and a complaint fails the case whatever it expects.

mod authority;
mod behaviour;
mod body;
mod connection;
mod faults;
mod head;
mod http1;
mod http2;
mod network;
mod play1;
mod play2;
mod recorder;
mod script;
mod standing;

pub use authority::CertificateAuthority;
pub use behaviour::Behaviour;
pub(crate) use network::UNREACHABLE;
pub use network::{Network, Resolve};
pub use recorder::Recorder;
pub use standing::Standing;

pub(crate) use head::{answer_lines, has_no_body};
pub(crate) use play2::send_run;
pub(crate) use script::{Script, unused_turns};
