//! What a check is, and what it can say.

use diagnostic::rule::Rule;
use diagnostic::{Judged, Severity};
use facts::Facts;

/// A check: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Check {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// Where it is in the report.
    pub group: Group,
    /// The worst that it says.
    pub severity: Severity,
    /// On which machines it means something.
    pub applies: Applies,
    /// What a healthy machine shows, in one line without a full stop: "the loaded module and the user library are one version".
    pub summary: &'static str,
    /// Markdown with the headings "What it checks", "Why it matters", "How to fix it", "Sources".
    pub explain: &'static str,
    /// The judgement. `Err` is a verdict too: the early way out for `?` on [`facts::Fact::require`].
    pub judge: fn(&Facts) -> Judged,
}

/// On which machines a check means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// On every one.
    Anywhere,
    /// Not inside containers.
    Host,
    /// Inside containers only.
    Container,
    /// Where there is an NVIDIA GPU, or should be one.
    Gpu,
    /// Where there is one, and not inside containers.
    GpuHost,
}

/// The groups, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Operating system, time, limits.
    System,
    /// PCI devices and links.
    Pci,
    /// NVIDIA driver and kernel modules.
    Driver,
    /// GPUs: health, memory errors, clocks.
    Gpu,
    /// NVLink, NVSwitch, fabric manager.
    Fabric,
    /// CUDA toolkits and libraries.
    Cuda,
    /// NCCL.
    Nccl,
    /// Docker engine.
    Docker,
    /// NVIDIA Container Toolkit.
    Toolkit,
    /// Network.
    Network,
    /// InfiniBand and RoCE.
    Rdma,
    /// Python and torch.
    Python,
    /// Environment variables.
    Environment,
}

impl Group {
    /// All, in order.
    pub const ALL: &[Group] = &[
        Group::System,
        Group::Pci,
        Group::Driver,
        Group::Gpu,
        Group::Fabric,
        Group::Cuda,
        Group::Nccl,
        Group::Docker,
        Group::Toolkit,
        Group::Network,
        Group::Rdma,
        Group::Python,
        Group::Environment,
    ];

    /// As it stands after `--only` and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Group::System => "system",
            Group::Pci => "pci",
            Group::Driver => "driver",
            Group::Gpu => "gpu",
            Group::Fabric => "fabric",
            Group::Cuda => "cuda",
            Group::Nccl => "nccl",
            Group::Docker => "docker",
            Group::Toolkit => "toolkit",
            Group::Network => "network",
            Group::Rdma => "rdma",
            Group::Python => "python",
            Group::Environment => "environment",
        }
    }

    /// As it stands in the report.
    pub fn title(self) -> &'static str {
        match self {
            Group::System => "System",
            Group::Pci => "PCI",
            Group::Driver => "NVIDIA driver",
            Group::Gpu => "GPUs",
            Group::Fabric => "NVLink and fabric",
            Group::Cuda => "CUDA",
            Group::Nccl => "NCCL",
            Group::Docker => "Docker",
            Group::Toolkit => "Container toolkit",
            Group::Network => "Network",
            Group::Rdma => "RDMA",
            Group::Python => "Python",
            Group::Environment => "Environment",
        }
    }
}

impl Rule for Check {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        self.severity
    }
    fn group(&self) -> diagnostic::rule::Group {
        diagnostic::rule::Group { id: self.group.id(), title: self.group.title() }
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}
