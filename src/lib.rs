//! messageweave-lb: edge load-balancing policy that runs anywhere.

pub mod policy;
