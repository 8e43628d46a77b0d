//! What a machine is: typed facts, gathered from a [`Host`] and never judged here.
//!
//! In: a [`Host`]. Out: [`Facts`], each known, absent, or unknown with the reason.
//!
//! One file a group. Each has its struct, `gather(&dyn Host)`, and pure parsers with the real text they read
//! in their tests. Nothing here decides whether something is wrong; see [`checks`].

pub mod clock;
pub mod cuda;
pub mod docker;
pub mod driver;
pub mod environment;
pub mod expected;
pub mod fabric;
mod fact;
pub mod fleet;
pub mod gather;
pub mod gpu;
pub mod kernel_log;
pub mod libraries;
pub mod limits;
pub mod live;
pub mod modules;
pub mod network;
pub mod packages;
pub mod pci;
pub mod python;
pub mod rdma;
mod reading;
pub mod service_path;
pub mod support;
pub mod system;
#[doc(hidden)]
pub mod testing;
pub mod toolkit;
mod values;

use catalog::Catalog;
pub use diagnostic::{Missing, MissingKind, Unavailable};
pub use expected::{Expected, Role};
pub use fact::Fact;
pub use reading::IntoFact;

/// Everything that is known of one machine.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What the facts are compared with.
    pub catalog: &'static Catalog,
    /// What the user said that this machine should be.
    pub expected: Expected,
    /// Operating system, kernel, virtualisation, container.
    pub system: system::System,
    /// The machine's time and whether it is kept.
    pub clock: clock::Clock,
    /// Devices on the PCI bus.
    pub pci: pci::Pci,
    /// Kernel modules, Secure Boot, DKMS, pending reboot.
    pub modules: modules::Modules,
    /// The NVIDIA driver: kernel module, user library, packages.
    pub driver: driver::Driver,
    /// What `nvidia-smi` says of each GPU.
    pub gpu: gpu::Gpus,
    /// NVSwitch fabric and its manager.
    pub fabric: fabric::Fabric,
    /// What the kernel logged about GPUs, links and memory.
    pub kernel_log: kernel_log::KernelLog,
    pub cuda: cuda::Cuda,
    /// NCCL, cuDNN and CUDA compat libraries, and the loader's way to them.
    pub libraries: libraries::Libraries,
    /// Docker (or Podman in its place).
    pub docker: docker::Docker,
    pub toolkit: toolkit::Toolkit,
    /// Interfaces, routes, names, firewall.
    pub network: network::Network,
    /// InfiniBand and RoCE adapters.
    pub rdma: rdma::Rdma,
    /// Limits of processes and memory.
    pub limits: limits::Limits,
    /// Python environments and what is installed in them.
    pub python: python::Python,
    /// Environment variables, proxies, pip and uv configuration.
    pub environment: environment::Environment,
    /// A real container; absent without `--live`.
    pub live: Fact<live::Live>,
}

impl Facts {
    /// What this machine is for: what the user said, else what it shows.
    pub fn role(&self) -> Fact<Role> {
        if let Some(role) = self.expected.role {
            return Fact::Known(role);
        }
        match &self.system.container {
            Fact::Known(_) => return Fact::Known(Role::Container),
            Fact::Unknown(why) => return Fact::Unknown(why.clone()),
            Fact::Absent => {}
        }
        self.has_gpu().map(|has| if has { Role::GpuNode } else { Role::BuildHost })
    }

    /// Whether envdoc runs inside a container: what the user said, else what it shows.
    pub fn inside_container(&self) -> Fact<bool> {
        match (self.expected.role, &self.system.container) {
            (Some(role), _) => Fact::Known(role == Role::Container),
            (None, Fact::Known(_)) => Fact::Known(true),
            (None, Fact::Absent) => Fact::Known(false),
            (None, Fact::Unknown(why)) => Fact::Unknown(why.clone()),
        }
    }

    /// Whether the machine has, or is expected to have, an NVIDIA GPU. On WSL2 and in containers, where the
    /// PCI bus need not show it, the driver's device nodes and `/dev/dxg` count too.
    pub fn has_gpu(&self) -> Fact<bool> {
        if self.expected.gpus.is_some_and(|count| count > 0) || self.expected.role == Some(Role::GpuNode) {
            return Fact::Known(true);
        }
        let elsewhere = matches!(self.driver.device_nodes, Fact::Known(ref nodes) if !nodes.gpus.is_empty())
            || matches!(self.system.wsl, Fact::Known(ref wsl) if wsl.dxg)
            || matches!(self.gpu.list, Fact::Known(ref gpus) if !gpus.is_empty());
        match &self.pci.devices {
            Fact::Known(_) => Fact::Known(elsewhere || self.pci.gpus().next().is_some()),
            _ if elsewhere => Fact::Known(true),
            Fact::Absent => Fact::Known(false),
            Fact::Unknown(_) if self.expected.gpus == Some(0) => Fact::Known(false),
            Fact::Unknown(why) => Fact::Unknown(why.clone().about("PCI devices")),
        }
    }
}
