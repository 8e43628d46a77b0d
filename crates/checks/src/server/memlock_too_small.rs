//! Too little memory may be locked for RDMA.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts, limits::Limit};

pub(super) const CHECK: Check = Check {
    id: "memlock-too-small",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the locked-memory limit is high enough for RDMA",
    explain: include_str!("memlock_too_small.md"),
    judge,
};

/// An estimate of envdoc's own: no source names a number, NVIDIA asks for unlimited.
const ENOUGH: u64 = 4 << 30;

/// The largest of the usual limits (64 KiB, 8 MiB), at which NCCL is known to fail; above it fails with size.
const USUAL: u64 = 8 << 20;

fn judge(facts: &Facts) -> Judged {
    let devices = facts.rdma.devices.require("no RDMA device")?;
    if devices.is_empty() {
        return Err(Verdict::NotApplicable("no RDMA device".into()));
    }
    const ALONE: &str = "no sign that this machine uses RDMA with other nodes";
    let peers = facts.peers();
    if peers == Fact::Absent {
        return Err(Verdict::NotApplicable(ALONE.into()));
    }
    let container = facts.system.container.decided()?.is_some();
    if container && facts.rdma.verbs_nodes.decided()?.is_none_or(|nodes| nodes.is_empty()) {
        return Err(Verdict::NotApplicable("this container has no RDMA device".into()));
    }
    let (soft, hard) = *facts.limits.memlock.require("no limits are set")?;
    let Limit::At(bytes) = soft else { return Ok(Verdict::Pass) };
    if bytes >= ENOUGH {
        return Ok(Verdict::Pass);
    }
    if *facts.limits.ipc_lock.require("no capabilities")? {
        return Err(Verdict::NotApplicable("CAP_IPC_LOCK lifts the limit for this process".into()));
    }
    peers.require(ALONE)?;
    let message = format!(
        "the locked-memory limit is {} KiB, but RDMA locks every buffer; NCCL can fail with \"ibv_reg_mr\"",
        bytes >> 10
    );
    let verdict = if container && bytes <= USUAL {
        let text = "Start the container without the limit:";
        Verdict::error(
            message,
            Fix::restarts_service(text, &["docker run --ulimit memlock=-1 --cap-add IPC_LOCK …"]),
        )
    } else if container {
        let text = "Start the container without the limit:";
        Verdict::warning(
            message,
            Fix::restarts_service(text, &["docker run --ulimit memlock=-1 --cap-add IPC_LOCK …"]),
        )
    } else {
        let lines = "* soft memlock unlimited\\n* hard memlock unlimited\\n";
        let command = format!("printf '{lines}' | sudo tee /etc/security/limits.d/90-memlock.conf");
        Verdict::warning(message, Fix::safe("Raise the limit (takes effect at the next login):", &[&command]))
    };
    let show = |limit| match limit {
        Limit::At(bytes) => format!("{bytes} bytes"),
        Limit::Unlimited => "unlimited".to_owned(),
    };
    Ok(verdict.evidence(format!("max locked memory: soft {}, hard {}", show(soft), show(hard))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::roles::*;

    fn node() -> Facts {
        let mut facts = gpu_node();
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "InfiniBand", "ACTIVE", 400)]);
        facts.limits.ipc_lock = Fact::Known(false);
        facts
    }

    #[test]
    fn a_small_limit_is_found_where_there_is_rdma() {
        let mut facts = node();
        facts.limits.memlock = Fact::Known((Limit::At(65_536), Limit::At(65_536)));
        expect(&CHECK, &facts, "warning", "64 KiB");
        facts.system.container = Fact::Known("docker".into());
        facts.rdma.verbs_nodes = Fact::Known(vec!["uverbs0".into()]);
        expect(&CHECK, &facts, "error", "64 KiB");
        facts.rdma.verbs_nodes = Fact::Absent;
        expect(&CHECK, &facts, "not-applicable", "");
    }

    #[test]
    fn unknown_peers_leave_a_small_limit_unknown() {
        let mut facts = node();
        facts.rdma.devices = Fact::Known(vec![rdma_device("mlx5_0", "Ethernet", "ACTIVE", 25)]);
        facts.limits.memlock = Fact::Known((Limit::At(65_536), Limit::At(65_536)));
        expect(&CHECK, &facts, "not-applicable", "no sign");
        facts.docker.info = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "permission denied");
    }

    #[test]
    fn unlimited_passes_and_cap_ipc_lock_is_exempt() {
        let mut facts = node();
        facts.limits.memlock = Fact::Known((Limit::Unlimited, Limit::Unlimited));
        expect(&CHECK, &facts, "pass", "");
        facts.limits.memlock = Fact::Known((Limit::At(65_536), Limit::Unlimited));
        facts.limits.ipc_lock = Fact::Known(true);
        expect(&CHECK, &facts, "not-applicable", "");
        facts.limits.memlock = Fact::Unknown("no /proc".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(&CHECK, &gpu_node(), "not-applicable", "");
    }
}
