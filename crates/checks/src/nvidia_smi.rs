//! What `nvidia-smi` says when it fails.

/// The causes that its words tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SmiError {
    GpuLost,
    /// It cannot reach the kernel module.
    DriverUnreachable,
    VersionMismatch,
    /// libnvidia-ml.so cannot be loaded.
    LibraryMissing,
    NoDevices,
    InsufficientPermissions,
    /// NVML's "Unknown Error", which a lost right to the device nodes causes as well.
    Unknown,
    Other,
}

impl SmiError {
    pub(crate) fn of(said: &str) -> SmiError {
        const WORDS: &[(&str, SmiError)] = &[
            ("GPU is lost", SmiError::GpuLost),
            ("Unable to determine the device handle", SmiError::GpuLost),
            ("couldn't communicate with the NVIDIA driver", SmiError::DriverUnreachable),
            ("version mismatch", SmiError::VersionMismatch),
            ("libnvidia-ml", SmiError::LibraryMissing),
            ("No devices were found", SmiError::NoDevices),
            ("Insufficient Permissions", SmiError::InsufficientPermissions),
            ("Unknown Error", SmiError::Unknown),
        ];
        WORDS.iter().find(|(words, _)| said.contains(words)).map_or(SmiError::Other, |(_, error)| *error)
    }
}
