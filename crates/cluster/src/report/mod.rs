//! Reports on a cluster.

pub mod check;
pub mod jobs;
pub mod status;
pub mod unreached;
pub mod up;
