//! Who reads an environment variable, and what its value is.

use serde::Deserialize;

/// The software that reads a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// Whatever is built against NCCL.
    Build,
    Cuda,
    Deepspeed,
    Gloo,
    Huggingface,
    Libfabric,
    /// The dynamic loader.
    Linux,
    Nccl,
    /// Every client of HTTP.
    Network,
    NvidiaContainerToolkit,
    Nvshmem,
    Openmp,
    Openmpi,
    Pip,
    Pmix,
    Pytorch,
    RdmaCore,
    Tensorpipe,
    Triton,
    Ucx,
    #[serde(rename = "none")]
    Nobody,
}

impl Owner {
    /// What it is called, for people.
    pub fn title(self) -> &'static str {
        match self {
            Owner::Build => "programs that are built against NCCL",
            Owner::Cuda => "CUDA",
            Owner::Deepspeed => "DeepSpeed",
            Owner::Gloo => "Gloo",
            Owner::Huggingface => "Hugging Face libraries",
            Owner::Libfabric => "libfabric",
            Owner::Linux => "the dynamic loader",
            Owner::Nccl => "NCCL",
            Owner::Network => "HTTP clients",
            Owner::NvidiaContainerToolkit => "the NVIDIA container toolkit",
            Owner::Nvshmem => "NVSHMEM",
            Owner::Openmp => "OpenMP",
            Owner::Openmpi => "Open MPI",
            Owner::Pip => "pip",
            Owner::Pmix => "PMIx",
            Owner::Pytorch => "PyTorch",
            Owner::RdmaCore => "rdma-core",
            Owner::Tensorpipe => "TensorPipe",
            Owner::Triton => "Triton",
            Owner::Ucx => "UCX",
            Owner::Nobody => "no program",
        }
    }

    /// The name in messages of those whose releases are compared with a row.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Owner::Nccl => Some("NCCL"),
            Owner::Pytorch => Some("PyTorch"),
            _ => None,
        }
    }
}

/// What the value of a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariableType {
    Bool,
    Cidr,
    Enum,
    Int,
    IntBytes,
    IntMinutes,
    IntMs,
    IntS,
    List,
    Path,
    String,
}

impl VariableType {
    /// Whether it is a whole number, whatever its unit.
    pub fn is_integer(self) -> bool {
        use VariableType::{Int, IntBytes, IntMinutes, IntMs, IntS};
        matches!(self, Int | IntBytes | IntMinutes | IntMs | IntS)
    }
}
