//! Neither nvidia_peermem nor dma-buf lets an RDMA adapter reach GPU memory.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::rdma::PortState;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "peermem-module-missing",
    group: Group::Rdma,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "RDMA adapters can access GPU memory",
    explain: include_str!("peermem_module_missing.md"),
    judge,
};

const ALONE: &str = "the RDMA ports belong to an ordinary network card, and there is no sign that this \
                     machine is part of a cluster";

fn judge(facts: &Facts) -> Judged {
    let devices = facts.rdma.devices.require("no RDMA device")?;
    if !devices.iter().any(|device| device.ports().any(|port| port.state == PortState::Active)) {
        for device in devices {
            device.ports.decided()?;
        }
        return Err(Verdict::NotApplicable("no RDMA port is active".into()));
    }
    let peers = facts.peers();
    if peers == Fact::Absent {
        return Err(Verdict::NotApplicable(ALONE.into()));
    }
    let module = facts.driver.module.require("the driver is not loaded")?;
    // GPUDirect RDMA is for professional and data-center cards.
    if let Fact::Known(gpus) = &facts.gpu.list
        && !gpus.is_empty()
        && gpus.iter().all(|gpu| gpu.name.contains("GeForce"))
    {
        return Err(Verdict::NotApplicable("GeForce GPUs do not support GPUDirect RDMA".into()));
    }
    let loaded = facts.modules.loaded.require("the kernel has no modules")?;
    if loaded.iter().any(|name| matches!(name.as_str(), "nvidia_peermem" | "nv_peer_mem")) {
        return Ok(Verdict::Pass);
    }
    peers.require(ALONE)?;
    // Unknown GPUs may be GeForce cards.
    facts.gpu.list.decided()?;
    let kernel = facts.system.kernel.require("no kernel")?;
    let recent = release(kernel).is_some_and(|release| release >= (5, 12));
    let fix = Fix::safe(
        "Load nvidia-peermem now and at each boot (if it does not load, reinstall the driver after the RDMA \
         stack, or use the open kernel module):",
        &[
            "sudo modprobe nvidia-peermem",
            "echo nvidia-peermem | sudo tee /etc/modules-load.d/nvidia-peermem.conf",
        ],
    );
    if module.open && recent {
        return match facts.environment.setting("NCCL_DMABUF_ENABLE").decided()? {
            Some(setting) if setting.value == "0" => {
                let message = "NCCL_DMABUF_ENABLE=0 disables dma-buf and nvidia_peermem is not loaded; \
                               GPUDirect RDMA is off";
                let fix =
                    Fix::safe("Unset the variable so that NCCL uses dma-buf:", &["unset NCCL_DMABUF_ENABLE"]);
                Ok(Verdict::warning(message, fix).evidence(format!("set in {}", setting.source)))
            }
            _ => Ok(Verdict::Pass),
        };
    }
    if module.open {
        return Err(Verdict::unknown(format!(
            "nvidia_peermem is not loaded; dma-buf replaces it from Linux 5.12 on, but envdoc does not know \
             whether kernel {kernel} has it backported"
        )));
    }
    let message = "nvidia_peermem is not loaded and the proprietary driver has no dma-buf; data between \
                   nodes is copied through host memory";
    Ok(Verdict::warning(message, fix)
        .evidence(format!("proprietary kernel module {} (/proc/driver/nvidia/version)", module.version))
        .evidence("nvidia_peermem: not in /proc/modules"))
}

/// `6.8.0-45-generic`: (6, 8).
fn release(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.split(['.', '-']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;

    use facts::driver::Module;

    fn node(open: bool, modules: &[&str], kernel: &str) -> Facts {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400)]);
        facts.driver.module = Fact::Known(Module { version: "550.54.15".parse().unwrap(), open });
        facts.modules.loaded = Fact::Known(modules.iter().map(|name| (*name).to_owned()).collect());
        facts.system.kernel = Fact::Known(kernel.into());
        facts
    }

    #[test]
    fn a_missing_module_is_found_unless_dma_buf_replaces_it() {
        expect(&CHECK, &node(false, &["nvidia"], "5.15.0-91-generic"), "warning", "proprietary");
        expect(&CHECK, &node(false, &["nvidia", "nvidia_peermem"], "5.15.0-91-generic"), "pass", "");
        expect(&CHECK, &node(true, &["nvidia"], "5.15.0-91-generic"), "pass", "");
        expect(&CHECK, &node(true, &["nvidia"], "4.18.0-553.el8.x86_64"), "unknown", "");
        let forbidden =
            with_variables(node(true, &["nvidia"], "6.8.0-45-generic"), &[("NCCL_DMABUF_ENABLE", "0")]);
        expect(&CHECK, &forbidden, "warning", "NCCL_DMABUF_ENABLE=0");
        let mut alone = node(false, &["nvidia"], "6.8.0");
        alone.rdma.devices = Fact::Known(vec![]);
        expect(&CHECK, &alone, "not-applicable", "");
    }

    #[test]
    fn unread_peers_and_ports_are_unknown() {
        let mut facts = node(false, &["nvidia"], "6.8.0");
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "Ethernet", "ACTIVE", 25)]);
        expect(&CHECK, &facts, "not-applicable", "ordinary network card");
        facts.docker.info = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "permission denied");
        let mut gpus = node(false, &["nvidia"], "6.8.0");
        gpus.gpu.list = Fact::Unknown("nvidia-smi: permission denied".into());
        expect(&CHECK, &gpus, "unknown", "nvidia-smi: permission denied");
        let mut device = rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400);
        device.ports = Fact::Unknown("ports: permission denied".into());
        facts.rdma.devices = Fact::Known(vec![device]);
        expect(&CHECK, &facts, "unknown", "ports: permission denied");
    }
}
