//! Reports on a cluster.

pub mod check;
pub mod fan_out;
pub mod progress;
pub mod status;
pub mod up;
