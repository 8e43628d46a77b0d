//! What `nvidia-smi -q -x` and `nvidia-smi --query-gpu` say of each GPU.

use super::Fact;
use super::driver::DriverVersion;
use crate::host::Host;

/// The GPUs as the driver sees them.
#[derive(Debug, Clone)]
pub struct Gpus {
    /// One entry a GPU, in the driver's order: `nvidia-smi -q -x`. Absent when there is no `nvidia-smi`. Unknown when it hung
    /// or failed, with what it said.
    pub list: Fact<Vec<Gpu>>,
    /// The driver version that `nvidia-smi` reports (`driver_version`; from 610 on `kmd_version`).
    pub driver: Fact<DriverVersion>,
    /// The highest CUDA version of the driver, `12.4` (`cuda_version`; from 610 on `cuda_umd_version`).
    pub cuda: Fact<String>,
}

/// One GPU. Fields that this GPU or driver does not report ("N/A", "Requested functionality has been deprecated") are absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// Position in the driver's order.
    pub index: u32,
    /// PCI address as sysfs writes it, `0000:1b:00.0`.
    pub address: String,
    /// `GPU-…`.
    pub uuid: String,
    /// `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// `Hopper`.
    pub architecture: Fact<String>,
    /// `(9, 0)`: from `nvidia-smi --query-gpu=…,compute_cap`, else from the catalog by PCI id or name.
    pub compute_capability: Fact<(u32, u32)>,
    /// Framebuffer total and used, in MiB.
    pub memory_total: Fact<u64>,
    /// Framebuffer used, in MiB.
    pub memory_used: Fact<u64>,
    /// Persistence mode.
    pub persistence: Fact<bool>,
    /// MIG mode now, and after the next reset.
    pub mig: Fact<(bool, bool)>,
    /// ECC: now, after the next reset.
    pub ecc: Fact<(bool, bool)>,
    /// Uncorrected ECC errors since boot (volatile) and since the board was made (aggregate).
    pub ecc_uncorrected: Fact<(u64, u64)>,
    /// Row remapping (Ampere and newer).
    pub remapped_rows: Fact<RemappedRows>,
    /// Pages retired (before Ampere): pending a reboot.
    pub retired_pages_pending: Fact<bool>,
    /// Reasons for lower clocks that are active now, `hw_thermal_slowdown` and the like, without idle and application settings.
    pub throttling: Fact<Vec<String>>,
    /// GPU core temperature in degrees Celsius.
    pub temperature: Fact<i32>,
    /// PCIe generation now, at most of the device.
    pub pcie_generation: Fact<(u32, u32)>,
    /// PCIe lanes now, at most.
    pub pcie_width: Fact<(u32, u32)>,
    /// Fabric state and status of NVSwitch systems (`Completed`/`Success`, `In Progress`/`N/A`); absent without a fabric.
    pub fabric: Fact<(String, String)>,
    /// NVLinks: lines of `nvidia-smi nvlink -s` of this GPU: per link GB/s, or none when inactive. Absent without NVLink.
    pub nvlinks: Fact<Vec<Option<f32>>>,
    /// `None`, `Pass-Through`, `VGPU`, `Host VGPU`…: virtualization mode.
    pub virtualization: Fact<String>,
    /// Whether the driver says this GPU requires a reset (`gpu_recovery_action` other than `None`, `gpu_reset_required`); the words.
    pub recovery_action: Fact<String>,
    /// Confidential computing, addressing mode and the like are not read.
    pub compute_mode: Fact<String>,
}

/// Row remapping, from `<remapped_rows>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemappedRows {
    /// Rows remapped because of correctable errors.
    pub correctable: u32,
    /// Rows remapped because of uncorrectable errors.
    pub uncorrectable: u32,
    /// A remap waits for a reset of the GPU.
    pub pending: bool,
    /// A remap failed: the board is to be replaced.
    pub failure: bool,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Gpus {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Gpus { list: Fact::Unknown(unknown()), driver: Fact::Unknown(unknown()), cuda: Fact::Unknown(unknown()) }
}
