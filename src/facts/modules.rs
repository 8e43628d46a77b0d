//! Kernel modules, Secure Boot, DKMS and a pending reboot.

use super::Fact;
use crate::host::Host;

/// What the kernel has loaded and would load.
#[derive(Debug, Clone)]
pub struct Modules {
    /// Names of loaded modules: `/proc/modules`.
    pub loaded: Fact<Vec<String>>,
    /// Version of the loaded `nvidia` module: `/sys/module/nvidia/version`. Absent when it is not loaded.
    pub nvidia_loaded: Fact<String>,
    /// Version of the `nvidia` module on disk for the running kernel (`modinfo` only where no file tells it); absent when
    /// there is none.
    pub nvidia_on_disk: Fact<String>,
    /// Secure Boot: last byte of `/sys/firmware/efi/efivars/SecureBoot-…`; absent on machines without EFI.
    pub secure_boot: Fact<bool>,
    /// DKMS: `/var/lib/dkms/nvidia*/VERSION/KERNEL/ARCH` present or not.
    pub dkms: Fact<Vec<Dkms>>,
    /// `/run/reboot-required` with `/run/reboot-required.pkgs` (Debian, Ubuntu); absent when no reboot is asked for.
    pub reboot_required: Fact<Vec<String>>,
    /// Lines of `/etc/modprobe.d` and `/usr/lib/modprobe.d` that name nvidia or nouveau.
    pub options: Fact<Vec<String>>,
}

/// One DKMS module version and the kernels it is built for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dkms {
    /// `nvidia`, `nvidia-open`, …
    pub name: String,
    /// Driver version.
    pub version: String,
    /// Kernel releases for which it is built.
    pub built_for: Vec<String>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Modules {
    let _ = host;
    let unknown = || "not yet".to_owned();
    Modules {
        loaded: Fact::Unknown(unknown()),
        nvidia_loaded: Fact::Unknown(unknown()),
        nvidia_on_disk: Fact::Unknown(unknown()),
        secure_boot: Fact::Unknown(unknown()),
        dkms: Fact::Unknown(unknown()),
        reboot_required: Fact::Unknown(unknown()),
        options: Fact::Unknown(unknown()),
    }
}
