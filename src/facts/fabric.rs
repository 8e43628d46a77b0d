//! The NVSwitch fabric and the service that runs it.

use super::Fact;
use crate::host::Host;

/// NVSwitch systems need the fabric manager (before NVLink 5) or NVLSM beside it.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// State of `nvidia-fabricmanager.service` as `systemctl is-active` words it (`active`, `inactive`, `failed`); absent when
    /// the unit is not installed. Only asked where NVSwitches are on the bus or a GPU reports a fabric.
    pub manager: Fact<String>,
    /// Its version: `nv-fabricmanager --version`, or the package's.
    pub version: Fact<String>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Fabric {
    let _ = host;
    Fabric { manager: Fact::Unknown("not yet".into()), version: Fact::Unknown("not yet".into()) }
}
