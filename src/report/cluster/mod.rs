//! Reports on a cluster.

pub mod crowd;
pub mod progress;
pub mod status;
pub mod up;
