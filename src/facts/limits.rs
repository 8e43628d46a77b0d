//! Limits of processes, shared memory, swap and huge pages.

use super::Fact;
use crate::host::{Host, Space};

/// A limit: a number of bytes or files, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// At most this many.
    At(u64),
    /// `unlimited`.
    Unlimited,
}

/// The limits that envdoc's own process has, which are those of the shell that started it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Locked memory in bytes, soft and hard: `/proc/self/limits`.
    pub memlock: Fact<(Limit, Limit)>,
    /// Open files, soft and hard.
    pub nofile: Fact<(Limit, Limit)>,
    /// `/dev/shm`; absent when it is not mounted.
    pub shared_memory: Fact<Space>,
    /// Swap in use and in all, bytes: `/proc/meminfo`.
    pub swap: Fact<(u64, u64)>,
    /// Huge pages: total, free, size in bytes: `/proc/meminfo`.
    pub huge_pages: Fact<(u64, u64, u64)>,
    /// Memory that the cgroup allows in bytes (`memory.max`); absent when it sets none.
    pub cgroup_memory: Fact<u64>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Limits {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Limits {
        memlock: Fact::Unknown(unknown()),
        nofile: Fact::Unknown(unknown()),
        shared_memory: Fact::Unknown(unknown()),
        swap: Fact::Unknown(unknown()),
        huge_pages: Fact::Unknown(unknown()),
        cgroup_memory: Fact::Unknown(unknown()),
    }
}
