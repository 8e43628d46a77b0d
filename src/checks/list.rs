//! The list of checks, in the order of the report: group by group, the most fundamental fault first.

use super::*;

/// Every check.
pub const CHECKS: &[&Check] = &[
    // system
    // pci
    // driver
    &driver_library_mismatch::CHECK,
    // gpu
    // fabric
    // cuda
    // nccl
    // docker
    &live_container_fails::CHECK,
    // toolkit
    &live_gpu_missing::CHECK,
    // network
    // rdma
    // python
    // environment
];
