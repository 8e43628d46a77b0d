//! InfiniBand and RoCE adapters.

use super::Fact;
use crate::host::Host;

/// RDMA devices.
#[derive(Debug, Clone)]
pub struct Rdma {
    /// One entry a device: `/sys/class/infiniband/*`. `Known(vec![])` where there is none.
    pub devices: Fact<Vec<RdmaDevice>>,
    /// `/dev/infiniband/uverbs*`: names; absent when the directory is not there.
    pub verbs_nodes: Fact<Vec<String>>,
}

/// One RDMA device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaDevice {
    /// `mlx5_0`.
    pub name: String,
    /// Firmware version.
    pub firmware: Fact<String>,
    /// Its ports.
    pub ports: Vec<RdmaPort>,
    /// Network interfaces of the same PCI function (`device/net/*`).
    pub interfaces: Vec<String>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaPort {
    /// Its number, from 1.
    pub number: u32,
    /// `InfiniBand` or `Ethernet` (RoCE).
    pub link_layer: String,
    /// `ACTIVE`, `DOWN`, `INIT`, `ARMED`.
    pub state: String,
    /// `LinkUp`, `Disabled`, `Polling`, …
    pub physical_state: String,
    /// Rate in Gbit/s.
    pub rate: Fact<u32>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Rdma {
    let _ = host;
    Rdma { devices: Fact::Unknown("not yet".into()), verbs_nodes: Fact::Unknown("not yet".into()) }
}
