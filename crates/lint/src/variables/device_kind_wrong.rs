//! Network interfaces where NCCL wants RDMA devices, and the reverse.

use crate::read::settings::{Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "device-kind-wrong",
    severity: Severity::Warning,
    summary: "NCCL_IB_HCA names RDMA devices, and NCCL_SOCKET_IFNAME network interfaces",
    explain: include_str!("device_kind_wrong.md"),
    judge: Judge::Variables(judge),
    fires: &[named("train.env", "NCCL_IB_HCA=ib0,ib1\n"), named("train.env", "NCCL_SOCKET_IFNAME=mlx5_0\n")],
    silent: &[
        named("train.env", "NCCL_IB_HCA=mlx5_0,mlx5_1:1\nNCCL_SOCKET_IFNAME=ib0,eth0\n"),
        named("train.env", "NCCL_IB_HCA=^mlx5_bond_0\nNCCL_SOCKET_IFNAME=^docker0,lo\n"),
        named("train.env", "NCCL_IB_HCA=ibp65s0,rocep1s0\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let found = settings.known().filter_map(|(_, one, value)| match one.name.as_str() {
        "NCCL_IB_HCA" => {
            let wrong = entries(value).find(|entry| is_interface(entry))?;
            let message = format!(
                "{wrong} in NCCL_IB_HCA is a network interface; NCCL finds no RDMA device of that name \
                 and goes \
                 on without InfiniBand"
            );
            let fix = "Use the names of `ibv_devices`, such as mlx5_0, or remove the variable";
            Some(Found::warning(one.location.clone(), message, fix))
        }
        "NCCL_SOCKET_IFNAME" | "GLOO_SOCKET_IFNAME" | "TP_SOCKET_IFNAME" => device(one, value),
        _ => None,
    });
    found.collect()
}

fn device(one: &Setting, value: &str) -> Option<Found> {
    let wrong = entries(value).find(|entry| entry.starts_with("mlx5_") || entry.starts_with("mlx4_"))?;
    let message = format!("{wrong} in {} is an RDMA device; no network interface has that name", one.name);
    let fix = "Use the name of an interface from `ip link`, such as ib0 or eth0";
    Some(Found::warning(one.location.clone(), message, fix))
}

/// The names of a list that says which to use, without ports.
fn entries(value: &str) -> impl Iterator<Item = &str> {
    let included = Some(value).filter(|value| !value.starts_with('^')).unwrap_or_default();
    included.trim_start_matches('=').split(',').map(|entry| entry.split(':').next().unwrap_or(entry).trim())
}

/// Whether a name is certainly one of a network interface: ib0, eth0, eno1, ens3f0, bond0.
fn is_interface(name: &str) -> bool {
    let numbered = ["ib", "eth", "eno", "ens", "bond"];
    let behind = numbered.iter().find_map(|start| name.strip_prefix(start));
    behind.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
        || matches!(name, "lo" | "docker0")
}
