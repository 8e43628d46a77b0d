//! The GPU of a rank, and the libnccl that it loaded.

use serde::{Deserialize, Serialize};

/// A libnccl that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Its file.
    pub path: String,
    /// Why it is this one: `torch in … asks for it`.
    pub from: String,
    /// By its own word: `2.27.5`.
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// How many the process sees.
    pub count: usize,
    /// `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Its compute capability: 9, 0.
    pub capability: (i32, i32),
    /// The CUDA version that the driver library is for: `12.8`.
    pub cuda: String,
    /// The kernel module's version: `570.86.15`; `None` where /proc does not tell.
    pub driver: Option<String>,
    /// Bytes of its memory that are free.
    pub free: usize,
    /// Bytes of its memory.
    pub total: usize,
}
