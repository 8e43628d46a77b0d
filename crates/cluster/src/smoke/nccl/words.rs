//! What NCCL's and CUDA's result codes mean, in words that help.

/// `ncclResult_t` (NVIDIA/nccl:src/nccl.h.in): its name, and what it tells.
pub fn nccl(code: i32) -> String {
    let (name, means) = match code {
        0 => ("ncclSuccess", "it worked"),
        1 => ("ncclUnhandledCudaError", "a CUDA call inside NCCL failed"),
        2 => ("ncclSystemError", "a system call inside NCCL failed: a socket, shared memory, a device file"),
        3 => ("ncclInternalError", "NCCL is not in order with itself, or memory was written over"),
        4 => ("ncclInvalidArgument", "an argument is wrong"),
        5 => {
            ("ncclInvalidUsage", "the call is not allowed so: a GPU that is used twice, versions that differ")
        }
        6 => ("ncclRemoteError", "another rank has ended, or the network to it broke"),
        7 => ("ncclInProgress", "it goes on still"),
        8 => ("ncclTimeout", "NCCL has given up waiting"),
        _ => return format!("result {code}, which this envdoc does not know"),
    };
    format!("{name}: {means}")
}

/// `CUresult` (cuda.h): its name, and what it tells on a machine for training.
pub fn cuda(code: i32) -> String {
    let (name, means) = match code {
        0 => ("CUDA_SUCCESS", "it worked"),
        1 => ("CUDA_ERROR_INVALID_VALUE", "an argument is wrong"),
        2 => ("CUDA_ERROR_OUT_OF_MEMORY", "the GPU's memory is full: does something else run on it?"),
        3 => ("CUDA_ERROR_NOT_INITIALIZED", "the driver library was not initialized"),
        34 => (
            "CUDA_ERROR_STUB_LIBRARY",
            "the toolkit's stub of libcuda is loaded in place of the driver's: take …/lib64/stubs out of LD_LIBRARY_PATH",
        ),
        46 => (
            "CUDA_ERROR_DEVICE_UNAVAILABLE",
            "another process has the GPU for itself (compute mode), or it is busy",
        ),
        100 => (
            "CUDA_ERROR_NO_DEVICE",
            "the driver shows no GPU here: the container was not given one, or CUDA_VISIBLE_DEVICES hides them",
        ),
        101 => ("CUDA_ERROR_INVALID_DEVICE", "there is no GPU of this number"),
        214 => ("CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU's memory has an error that cannot be mended"),
        220 => ("CUDA_ERROR_NVLINK_UNCORRECTABLE", "NVLink has an error that cannot be mended"),
        209 => ("CUDA_ERROR_NO_BINARY_FOR_GPU", "this NCCL has no code for this GPU"),
        304 => ("CUDA_ERROR_OPERATING_SYSTEM", "a system call of the driver failed"),
        700 => ("CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel touched memory that is not its own"),
        719 => ("CUDA_ERROR_LAUNCH_FAILED", "a kernel crashed"),
        800 => ("CUDA_ERROR_NOT_PERMITTED", "it is not allowed"),
        801 => ("CUDA_ERROR_NOT_SUPPORTED", "this GPU or this system cannot do it"),
        802 => (
            "CUDA_ERROR_SYSTEM_NOT_READY",
            "the system is not ready: on boards with NVSwitch the fabric manager must run",
        ),
        803 => (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "the driver library is of another version than the kernel module: reboot, or make the container anew",
        ),
        804 => (
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
            "a compatibility libcuda is loaded, which only works on data center GPUs: take /usr/local/cuda/compat out of the way",
        ),
        999 => (
            "CUDA_ERROR_UNKNOWN",
            "often /dev/nvidia-uvm is missing or may not be opened, or the module nvidia_uvm is not loaded",
        ),
        _ => return format!("CUDA error {code}"),
    };
    format!("{name}: {means}")
}

/// NCCL's version from its number: until 2.8 `MAJOR * 1000 + MINOR * 100 + PATCH`, then `MAJOR * 10000 + …` (the macro NCCL_VERSION in nccl.h).
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
    fn versions_of_all_ages() {
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
    fn codes_in_words() {
        assert!(nccl(6).starts_with("ncclRemoteError: another rank"));
        assert!(nccl(42).contains("42"));
        assert!(cuda(100).contains("shows no GPU"));
        assert!(cuda(34).contains("stubs") && cuda(803).contains("kernel module"));
        assert_eq!(cuda(4711), "CUDA error 4711");
    }

    /// The numbers are those of the bindings, which are made from cuda.h.
    #[test]
    fn names_are_those_of_the_driver() {
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
