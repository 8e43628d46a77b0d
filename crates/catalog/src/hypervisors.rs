//! How a virtual machine looks from inside: `catalog/hypervisors.yaml`.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;

/// What the firmware of a virtual machine says (DMI).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// How `sys_vendor` begins: `QEMU`; empty where any vendor counts.
    #[serde(default)]
    pub vendor: String,
    /// A part of `product_name`: `Virtual Machine`; empty where any product counts.
    #[serde(default)]
    pub product: String,
    /// `kvm`.
    pub hypervisor: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

/// A clock source of the kernel that only a hypervisor offers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockSource {
    /// How its name begins: `kvm-clock`.
    pub prefix: String,
    /// `kvm`.
    pub hypervisor: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Machine, ClockSource);

/// `catalog/hypervisors.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypervisors {
    checked: String,
    sources: SharedSources,
    machines: Vec<Machine>,
    clock_sources: Vec<ClockSource>,
}

impl Contents for Hypervisors {
    const NAME: &str = "hypervisors.yaml";
    const TEXT: &str = file::text!("hypervisors.yaml");
}

file::sourced!(Hypervisors, [machines, clock_sources]);

impl Hypervisors {
    /// The hypervisor of a machine whose DMI has this `sys_vendor` and `product_name`.
    pub fn by_dmi(&self, vendor: &str, product: &str) -> Option<&str> {
        let fits = |row: &&Machine| vendor.starts_with(&row.vendor) && product.contains(&row.product);
        self.machines.iter().find(fits).map(|row| row.hypervisor.as_str())
    }

    /// The hypervisor that offers one of these clock sources.
    pub fn by_clock_sources(&self, available: &[&str]) -> Option<&str> {
        let offered = |row: &&ClockSource| available.iter().any(|clock| clock.starts_with(&row.prefix));
        self.clock_sources.iter().find(offered).map(|row| row.hypervisor.as_str())
    }
}
