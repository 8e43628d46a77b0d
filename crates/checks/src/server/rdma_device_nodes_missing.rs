//! RDMA devices are there, but programs cannot open them.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::Missing;
use facts::Facts;
use facts::rdma::PortState;

pub(super) const CHECK: Check = Check {
    id: "rdma-device-nodes-missing",
    group: Group::Rdma,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "programs can open the RDMA devices",
    explain: include_str!("rdma_device_nodes_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let devices = facts.rdma.devices.require("no RDMA device")?;
    let active = devices.iter().any(|device| device.ports().any(|port| port.state == PortState::Active));
    if !active {
        for device in devices {
            device.ports.decided()?;
        }
        return Err(Verdict::NotApplicable("no RDMA port is active".into()));
    }
    let nodes = facts.rdma.verbs_nodes.decided()?.map_or(0, Vec::len);
    if nodes > 0 {
        return Ok(Verdict::Pass);
    }
    if facts.system.container.decided()?.is_none() {
        let message = "RDMA ports are active but /dev/infiniband has no uverbs nodes; programs cannot use \
                       them";
        let fix = Fix::safe(
            "Load ib_uverbs until the next boot (install rdma-core to load it at every boot):",
            &["sudo modprobe ib_uverbs"],
        );
        return Ok(Verdict::error(message, fix).evidence("no /dev/infiniband/uverbs*"));
    }
    let set = |name: &str| Ok::<_, Missing>(facts.environment.setting(name).decided()?.is_some());
    if facts.expected.rdma != Some(true) && !set("MASTER_ADDR")? && !set("NCCL_IB_HCA")? {
        return Err(Verdict::NotApplicable("no sign that this container is meant to use RDMA".into()));
    }
    let message = "the machine has active RDMA ports but this container has no access to them; NCCL silently \
                   falls back to TCP";
    let fix = Fix::restarts_service(
        "Start the container with the RDMA devices:",
        &["docker run --device /dev/infiniband --ulimit memlock=-1 --cap-add IPC_LOCK …"],
    );
    Ok(Verdict::warning(message, fix).evidence("no /dev/infiniband/uverbs*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn missing_nodes_are_found() {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400)]);
        facts.rdma.verbs_nodes = Fact::Absent;
        expect(&CHECK, &facts, "error", "no uverbs nodes");
        facts.system.container = Fact::Known("docker".into());
        expect(&CHECK, &facts, "not-applicable", "");
        facts.expected.rdma = Some(true);
        expect(&CHECK, &facts, "warning", "no access to them");
        facts.rdma.verbs_nodes = Fact::Known(vec!["uverbs0".into()]);
        expect(&CHECK, &facts, "pass", "");
        facts.rdma.verbs_nodes = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
    }

    #[test]
    fn unread_ports_or_variables_are_unknown() {
        let mut facts = gpu_container();
        let mut device = rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400);
        facts.rdma.devices = Fact::Known(vec![device.clone()]);
        facts.rdma.verbs_nodes = Fact::Absent;
        facts.environment.variables = Fact::Unknown("environ: permission denied".into());
        expect(&CHECK, &facts, "unknown", "environ: permission denied");
        device.ports = Fact::Unknown("ports: permission denied".into());
        facts.rdma.devices = Fact::Known(vec![device]);
        expect(&CHECK, &facts, "unknown", "ports: permission denied");
    }
}
