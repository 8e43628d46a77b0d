//! Reports on a cluster.

pub mod check;
pub mod crowd;
pub mod progress;
pub mod status;
pub mod up;
