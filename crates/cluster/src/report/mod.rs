//! Reports on a cluster.

pub mod check;
pub mod jobs;
pub mod status;
mod unreached;
pub mod up;
