//! A fast way between GPUs is switched off by a variable.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "nccl-transport-disabled",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no variable disables a fast transport between GPUs",
    explain: include_str!("nccl_transport_disabled.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let value =
        |name: &str| settings.iter().find(|setting| setting.name == name && !setting.value.is_empty());
    let rdma = facts.rdma.fabric().decided()?.is_some_and(|fabric| *fabric);
    // Whether GPUs can reach each other at all; where that is unknown, the variable is reported.
    let (direct, geforce) = match &facts.gpu.list {
        Fact::Known(gpus) => {
            let geforce = !gpus.is_empty() && gpus.iter().all(|gpu| is_new_geforce(&gpu.name));
            (gpus.len() > 1 && !geforce, geforce)
        }
        _ => (true, false),
    };
    let rdma = rdma && !geforce;
    let switches: [(&str, &str, bool, &str); 6] = [
        ("NCCL_P2P_DISABLE", "1", direct, "GPUs do not use direct peer-to-peer (NVLink, PCIe)"),
        ("NCCL_P2P_LEVEL", "LOC", direct, "GPUs do not use direct peer-to-peer (NVLink, PCIe)"),
        ("NCCL_SHM_DISABLE", "1", true, "processes on one node communicate over the network"),
        ("NCCL_IB_DISABLE", "1", rdma, "the active RDMA ports are unused and nodes communicate over TCP"),
        ("NCCL_NET", "Socket", rdma, "the active RDMA ports are unused and nodes communicate over TCP"),
        ("NCCL_NET_GDR_LEVEL", "LOC", rdma, "data between nodes is copied through host memory"),
    ];
    let mut relevant = false;
    let mut off = Vec::new();
    for (name, switch, counts, effect) in switches {
        let Some(setting) = value(name) else { continue };
        relevant = true;
        if counts && setting.value.eq_ignore_ascii_case(switch) {
            off.push((setting, effect));
        }
    }
    if !relevant {
        return Err(Verdict::NotApplicable("no such variable is set".into()));
    }
    let Some((first, effect)) = off.first() else { return Ok(Verdict::Pass) };
    let message = format!("{}={} is still set: {effect}, which costs bandwidth", first.name, first.value);
    let unset: Vec<String> = off.iter().map(|(setting, _)| format!("unset {}", setting.name)).collect();
    let commands: Vec<&str> = unset.iter().map(String::as_str).collect();
    let verdict = Verdict::warning(
        message,
        Fix::safe("Remove it where it is set, once the fault that it worked around is fixed:", &commands),
    )
    .about(Subject::name(first.name));
    Ok(off.iter().fold(verdict, |verdict, (setting, effect)| {
        verdict.evidence(format!("{}={} in {}: {effect}", setting.name, setting.value, setting.source))
    }))
}

/// `NVIDIA GeForce RTX 4090`, `RTX 5090`.
fn is_new_geforce(name: &str) -> bool {
    name.contains("GeForce RTX 4") || name.contains("GeForce RTX 5")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(variables: &[(&str, &str)]) -> Facts {
        let mut facts = with_variables(gpu_node(), variables);
        facts.rdma.devices = Fact::Known(vec![]);
        facts
    }

    #[test]
    fn reports_variables_that_disable_a_transport() {
        expect(&CHECK, &node(&[("NCCL_P2P_DISABLE", "1")]), "warning", "NCCL_P2P_DISABLE=1");
        let with_rdma = |variables| {
            let mut facts = node(variables);
            facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400)]);
            facts
        };
        expect(&CHECK, &with_rdma(&[("NCCL_IB_DISABLE", "1")]), "warning", "RDMA ports");
        expect(&CHECK, &node(&[("NCCL_IB_DISABLE", "1")]), "pass", "");
        expect(&CHECK, &with_rdma(&[("NCCL_IB_DISABLE", "0")]), "pass", "");
        expect(&CHECK, &node(&[]), "not-applicable", "");
        let mut unread = node(&[]);
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
