//! The driver is loaded without its module for unified memory.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "uvm-module-missing",
    group: Group::Driver,
    applies: Applies::GpuHost,
    summary: "the module nvidia_uvm is loaded beside nvidia",
    explain: "\
## What it checks
Whether `nvidia_uvm` is among the loaded modules (`/proc/modules`) when `nvidia` is.

## Why it matters
CUDA cannot start without it, while `nvidia-smi` works and looks healthy. On the host a CUDA program that
runs as root, or the setuid program `nvidia-modprobe`, loads it at first use. A container
cannot: there it depends on the toolkit's hook (`load-kmods`), and where GPUs come by CDI or `--device`
CUDA says \"unknown error\" (999).

## How to fix it
Load it, and have it loaded at every boot.

## Sources
- nvidia-modprobe(1) (https://man.archlinux.org/man/nvidia-modprobe.1.en)
- https://github.com/ggml-org/llama.cpp/issues/7218, https://github.com/pytorch/pytorch/issues/49081
- NVIDIA/nvidia-container-toolkit:api/config/v1/config.go@d34b3046 (load-kmods)
- https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let module = facts.driver.module.require("the driver is not loaded")?;
    let loaded = facts.modules.loaded.require("no modules are loaded")?;
    if loaded.iter().any(|name| name == "nvidia_uvm") {
        return Ok(Verdict::Pass);
    }
    if !loaded.iter().any(|name| name == "nvidia") {
        return Ok(Verdict::NotApplicable("the driver is not loaded as modules".into()));
    }
    let says = format!(
        "nvidia {} is loaded without nvidia_uvm: nvidia-smi works, and CUDA fails with \"unknown error\" in containers \
         that nothing loads it for (CDI, --device)",
        module.version
    );
    let fix = Fix::safe(
        "",
        &["sudo modprobe nvidia_uvm", "echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf"],
    );
    Ok(Verdict::warning(says, fix).because("nvidia_uvm is not in /proc/modules"))
}

#[cfg(test)]
mod tests {
    use super::super::gpu_without_driver::testing::{expect, server};
    use super::*;
    use crate::facts::Fact;

    #[test]
    fn nvidia_without_uvm_is_a_warning() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let without = server(|f| f.modules.loaded = Fact::Known(vec!["nvidia".into()]));
        expect(&CHECK, &without, "warning", "without nvidia_uvm");
        expect(&CHECK, &server(|f| f.modules.loaded = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|f| f.driver.module = Fact::Absent), "not applicable", "not loaded");
    }
}
