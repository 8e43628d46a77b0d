//! Interfaces that lead nowhere outside the machine: `catalog/network_interfaces.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// How a program names such interfaces.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalInterfaces {
    /// How the names begin: `virbr`.
    pub prefix: String,
    /// What makes them: `libvirt`.
    pub program: String,
    /// The first NCCL that leaves them out when it chooses an interface by itself; `None`: not known to.
    pub nccl_skips_since: Option<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(LocalInterfaces, "network_interfaces.yaml");

impl Table<LocalInterfaces> {
    /// Whether an interface of this name leads to containers, virtual machines or tunnels of this machine.
    pub fn is_local(&self, name: &str) -> bool {
        self.all().iter().any(|row| name.starts_with(&row.prefix))
    }

    /// The first NCCL that leaves an interface of this name out.
    pub fn nccl_skips_since(&self, name: &str) -> Option<&str> {
        self.all().iter().find(|row| name.starts_with(&row.prefix))?.nccl_skips_since.as_deref()
    }
}
