//! Reports on a cluster.

pub mod check;
mod entries;
pub mod jobs;
mod overview;
pub mod status;
pub mod unreached;
pub mod up;
