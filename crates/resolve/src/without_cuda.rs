//! Whether packages work with a CPU build of torch.

use catalog::packages::{self, CudaUse};

/// Whether a release works with a CPU build of torch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutCuda {
    /// It uses no CUDA.
    Works,
    /// It uses CUDA, and what it does without was not read.
    Unknown,
    /// Other releases of the package need CUDA; of this one it was not read.
    NotKnownToWork,
    /// Its compiled code loads the libraries of CUDA, or it needs a GPU.
    Fails,
}

impl WithoutCuda {
    /// Whether a release works with a CPU build. `needs`: its wheels need CUDA or a GPU; `compiled`: releases
    /// of the package are known to need CUDA.
    pub(super) fn of(needs: bool, package: Option<&packages::Package>, compiled: bool) -> WithoutCuda {
        match package.and_then(|package| package.cuda.as_ref()).map(|cuda| cuda.use_of) {
            _ if needs => WithoutCuda::Fails,
            Some(CudaUse::Required) => WithoutCuda::Fails,
            _ if compiled => WithoutCuda::NotKnownToWork,
            Some(CudaUse::Used) => WithoutCuda::Unknown,
            None => WithoutCuda::Works,
        }
    }
}
