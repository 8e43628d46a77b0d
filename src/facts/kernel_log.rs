//! What the kernel logged about GPUs, links and memory.

use super::Fact;
use crate::host::Host;

/// Events since boot, oldest first: `/dev/kmsg`, else `journalctl -k -b`.
#[derive(Debug, Clone)]
pub struct KernelLog {
    /// Xid and SXid events.
    pub xids: Fact<Vec<Xid>>,
    /// Processes that the kernel killed for want of memory (names).
    pub oom_kills: Fact<Vec<String>>,
    /// Other lines of the NVIDIA driver that say something failed (`NVRM: API mismatch`, `RmInitAdapter failed`, …).
    pub driver_errors: Fact<Vec<String>>,
}

/// One Xid (GPU) or SXid (NVSwitch) event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// Its number.
    pub number: u32,
    /// Whether it is an SXid.
    pub switch: bool,
    /// PCI address, `0000:41:00`, lower case.
    pub address: String,
    /// The whole line without its time stamp.
    pub line: String,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> KernelLog {
    let _ = host;
    let unknown = || "not yet".to_owned();
    KernelLog {
        xids: Fact::Unknown(unknown()),
        oom_kills: Fact::Unknown(unknown()),
        driver_errors: Fact::Unknown(unknown()),
    }
}
