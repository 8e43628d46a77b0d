//! Reports on a cluster.

pub mod check;
pub mod jobs;
pub mod progress;
pub mod status;
pub mod up;
