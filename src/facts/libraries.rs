//! NCCL, cuDNN and CUDA compat libraries outside Python, and the loader's way to them.

use super::Fact;
use crate::host::Host;

/// What the dynamic loader would find, in its order: `LD_LIBRARY_PATH`, then the directories of `/etc/ld.so.conf`, then
/// the system's own. (An executable's rpath comes before all of these: a wheel's NCCL is found through it.)
#[derive(Debug, Clone)]
pub struct Libraries {
    /// Directories of `LD_LIBRARY_PATH`, in order; absent when it is not set.
    pub ld_library_path: Fact<Vec<String>>,
    /// Directories of `/etc/ld.so.conf` and what it includes, in order.
    pub loader_directories: Fact<Vec<String>>,
    /// `LD_PRELOAD`.
    pub preload: Fact<String>,
    /// Every `libnccl.so*`, in the loader's order.
    pub nccl: Fact<Vec<Library>>,
    /// Every `libcudnn.so*`, in the loader's order.
    pub cudnn: Fact<Vec<Library>>,
    /// `libcuda.so.*` in cuda-compat directories (`/usr/local/cuda*/compat`), with the driver version in their name.
    pub compat: Fact<Vec<Library>>,
    /// `/etc/nccl.conf` and `~/.nccl.conf`: lines as they stand. Absent when neither is there.
    pub nccl_conf: Fact<Vec<String>>,
}

/// One library file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Full path, links followed.
    pub path: String,
    /// Version in its file name, `2.21.5`; absent when the name has none.
    pub version: Fact<String>,
    /// Which directory list it was found through: `LD_LIBRARY_PATH`, `ld.so.conf`, `default`, `cuda`.
    pub found_in: String,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Libraries {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Libraries {
        ld_library_path: Fact::Unknown(unknown()),
        loader_directories: Fact::Unknown(unknown()),
        preload: Fact::Unknown(unknown()),
        nccl: Fact::Unknown(unknown()),
        cudnn: Fact::Unknown(unknown()),
        compat: Fact::Unknown(unknown()),
        nccl_conf: Fact::Unknown(unknown()),
    }
}
