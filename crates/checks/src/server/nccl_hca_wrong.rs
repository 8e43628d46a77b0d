//! NCCL_IB_HCA names no RDMA device, or more of them than meant.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "nccl-hca-wrong",
    group: Group::Environment,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "NCCL_IB_HCA selects the intended RDMA devices",
    explain: include_str!("nccl_hca_wrong.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let setting = facts.environment.setting("NCCL_IB_HCA");
    let setting = setting.require("NCCL_IB_HCA is not set")?;
    let devices = facts.rdma.devices.require("no RDMA device")?;
    if devices.is_empty() {
        return Err(Verdict::NotApplicable("no RDMA device".into()));
    }
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let (excluded, list) =
        setting.value.strip_prefix('^').map_or((false, setting.value), |list| (true, list));
    let (whole, list) = list.strip_prefix('=').map_or((false, list), |list| (true, list));
    let entries: Vec<&str> = list.split(',').map(|entry| entry.split(':').next().unwrap_or(entry)).collect();
    let matches =
        |name: &str| entries.iter().any(|entry| if whole { name == *entry } else { name.starts_with(entry) });
    let evidence = format!("RDMA devices: {}", names.join(", "));
    if !names.iter().any(|name| matches(name) != excluded) {
        let message =
            format!("NCCL_IB_HCA={} matches no RDMA device; NCCL silently falls back to TCP", setting.value);
        return Ok(Verdict::error(
            message,
            Fix::safe("Unset NCCL_IB_HCA and let NCCL select the devices:", &["unset NCCL_IB_HCA"]),
        )
        .about(Subject::name(setting.name))
        .evidence(evidence)
        .evidence(format!("set in {}", setting.source)));
    }
    if whole {
        return Ok(Verdict::Pass);
    }
    // An entry that is a device's whole name, and the beginning of others that are not named themselves.
    for entry in entries.iter().filter(|entry| names.contains(entry)) {
        let more: Vec<&str> =
            names.iter().filter(|name| name.starts_with(entry) && !entries.contains(name)).copied().collect();
        if more.is_empty() {
            continue;
        }
        let verb = if excluded { "also excludes" } else { "also matches" };
        let message =
            format!("{entry} in NCCL_IB_HCA {verb} {}, because entries are name prefixes", more.join(", "));
        let export = format!("export NCCL_IB_HCA={}={list}", if excluded { "^" } else { "" });
        return Ok(Verdict::warning(message, Fix::safe("Match full names with `=`:", &[&export]))
            .about(Subject::name(setting.name))
            .evidence(evidence)
            .evidence(format!("NCCL_IB_HCA={} in {}", setting.value, setting.source)));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expect, verdict_line};
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(value: &str) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("NCCL_IB_HCA", value)]);
        let names = ["mlx5_0", "mlx5_1", "mlx5_10", "mlx5_11"];
        facts.rdma.devices =
            Fact::Known(names.iter().map(|name| rdma_device(name, "InfiniBand", "ACTIVE", 400)).collect());
        facts
    }

    #[test]
    fn reports_ambiguous_prefixes_and_unknown_devices() {
        expect(&CHECK, &node("mlx5_0,mlx5_1"), "warning", "mlx5_10, mlx5_11");
        expect(&CHECK, &node("^mlx5_1"), "warning", "also excludes");
        expect(&CHECK, &node("mlx4"), "error", "no RDMA device");
        for value in ["=mlx5_0,mlx5_1", "mlx5", "mlx5_0:1", "mlx5_1,mlx5_10,mlx5_11", "^mlx4"] {
            assert_eq!(verdict_line(&CHECK, &node(value)), "pass", "{value}");
        }
        expect(&CHECK, &gpu_node(), "not-applicable", "");
        let mut unread = node("mlx5");
        unread.rdma.devices = Fact::Unknown("no /sys".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
