//! What NCCL's and CUDA's result codes mean, in words that help.

/// `ncclResult_t` (NVIDIA/nccl:src/nccl.h.in): its name, and what it tells.
pub fn nccl(code: i32) -> String {
    let (name, means) = match code {
        0 => ("ncclSuccess", "success"),
        1 => ("ncclUnhandledCudaError", "a CUDA call inside NCCL failed"),
        2 => ("ncclSystemError", "a system call inside NCCL failed: a socket, shared memory, a device file"),
        3 => ("ncclInternalError", "an internal error of NCCL, or memory corruption"),
        4 => ("ncclInvalidArgument", "invalid argument"),
        5 => ("ncclInvalidUsage", "invalid use: a GPU used by two ranks, or different NCCL versions"),
        6 => ("ncclRemoteError", "another rank exited, or the network to it failed"),
        7 => ("ncclInProgress", "still in progress"),
        8 => ("ncclTimeout", "NCCL timed out"),
        _ => return format!("unknown NCCL result {code}"),
    };
    format!("{name}: {means}")
}

/// `CUresult` (cuda.h): its name, and what it tells on a machine for training.
pub fn cuda(code: i32) -> String {
    let (name, means) = match code {
        0 => ("CUDA_SUCCESS", "success"),
        1 => ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
        2 => ("CUDA_ERROR_OUT_OF_MEMORY", "GPU memory is full; check for other processes with nvidia-smi"),
        3 => ("CUDA_ERROR_NOT_INITIALIZED", "the driver library was not initialized"),
        34 => (
            "CUDA_ERROR_STUB_LIBRARY",
            "the CUDA toolkit's stub libcuda is loaded instead of the driver's; remove …/lib64/stubs from \
                LD_LIBRARY_PATH",
        ),
        46 => (
            "CUDA_ERROR_DEVICE_UNAVAILABLE",
            "another process uses the GPU exclusively (compute mode), or it is busy",
        ),
        100 => (
            "CUDA_ERROR_NO_DEVICE",
            "the driver shows no GPU: the container was given none, or CUDA_VISIBLE_DEVICES hides them",
        ),
        101 => ("CUDA_ERROR_INVALID_DEVICE", "no GPU with this number"),
        214 => ("CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error in GPU memory"),
        220 => ("CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"),
        209 => ("CUDA_ERROR_NO_BINARY_FOR_GPU", "this NCCL has no kernels for this GPU"),
        304 => ("CUDA_ERROR_OPERATING_SYSTEM", "a system call of the driver failed"),
        700 => ("CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel accessed an illegal address"),
        719 => ("CUDA_ERROR_LAUNCH_FAILED", "a kernel crashed"),
        800 => ("CUDA_ERROR_NOT_PERMITTED", "operation not permitted"),
        801 => ("CUDA_ERROR_NOT_SUPPORTED", "not supported by this GPU or system"),
        802 => (
            "CUDA_ERROR_SYSTEM_NOT_READY",
            "the system is not ready; systems with NVSwitch need a running fabric manager",
        ),
        803 => (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "libcuda and the kernel module have different versions; reboot, or recreate the container",
        ),
        804 => (
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
            "the forward-compatibility libcuda is loaded, which only supports data center GPUs; remove \
                /usr/local/cuda/compat from the library path",
        ),
        999 => (
            "CUDA_ERROR_UNKNOWN",
            "often /dev/nvidia-uvm is missing or not accessible, or the module nvidia_uvm is not loaded",
        ),
        _ => return format!("CUDA error {code}"),
    };
    format!("{name}: {means}")
}

/// NCCL's version from its number: until 2.8 `MAJOR * 1000 + MINOR * 100 + PATCH`, then `MAJOR * 10000 + …`
/// (the macro NCCL_VERSION in nccl.h).
pub fn version(code: i32) -> String {
    let major = if code < 10_000 { 1000 } else { 10_000 };
    format!("{}.{}.{}", code / major, code % major / 100, code % 100)
}

/// The version of CUDA from its number: `12080` is 12.8 (cuDriverGetVersion).
pub fn cuda_version(code: i32) -> String {
    format!("{}.{}", code / 1000, code % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_nccl_and_cuda_version_codes() {
        for (code, text) in [
            (2408, "2.4.8"),
            (2804, "2.8.4"),
            (20_908, "2.9.8"),
            (21_005, "2.10.5"),
            (22_703, "2.27.3"),
            (23_203, "2.32.3"),
            (30_100, "3.1.0"),
        ] {
            assert_eq!(version(code), text);
        }
        assert_eq!((cuda_version(12_080), cuda_version(13_040)), ("12.8".into(), "13.4".into()));
    }

    #[test]
    fn describes_nccl_and_cuda_error_codes() {
        assert!(nccl(6).starts_with("ncclRemoteError: another rank"));
        assert!(nccl(42).contains("42"));
        assert!(cuda(100).contains("shows no GPU"));
        assert!(cuda(34).contains("stubs") && cuda(803).contains("kernel module"));
        assert_eq!(cuda(4711), "CUDA error 4711");
    }

    /// The numbers are those of the bindings, which are made from cuda.h.
    #[test]
    fn error_names_match_the_cuda_driver_bindings() {
        use cudarc::driver::sys::CUresult;
        for known in [
            CUresult::CUDA_ERROR_STUB_LIBRARY,
            CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
            CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUresult::CUDA_ERROR_OPERATING_SYSTEM,
            CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
            CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
            CUresult::CUDA_ERROR_UNKNOWN,
        ] {
            assert!(cuda(known as i32).starts_with(&format!("{known:?}: ")), "{known:?}");
        }
    }
}
