//! The packages whose versions belong to a build of torch.

use std::fmt;

/// A package of which each torch build has its own version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partner {
    Torchvision,
    Torchaudio,
    Triton,
    Nccl,
}

impl Partner {
    /// By the name of a package; NCCL has one for each CUDA.
    pub(crate) fn of_package(name: &str) -> Option<Partner> {
        match name {
            "torchvision" => Some(Partner::Torchvision),
            "torchaudio" => Some(Partner::Torchaudio),
            "triton" => Some(Partner::Triton),
            name if name == "nccl" || nccl_wheel(name).is_some() => Some(Partner::Nccl),
            _ => None,
        }
    }

    /// As sentences name it; of all but NCCL also the name of the package.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Partner::Torchvision => "torchvision",
            Partner::Torchaudio => "torchaudio",
            Partner::Triton => "triton",
            Partner::Nccl => "NCCL",
        }
    }
}

/// The major CUDA version in the name of a wheel of NCCL: 12 for `nvidia-nccl-cu12`.
pub(crate) fn nccl_wheel(package: &str) -> Option<u32> {
    package.strip_prefix("nvidia-nccl-cu")?.parse().ok()
}

impl fmt::Display for Partner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
