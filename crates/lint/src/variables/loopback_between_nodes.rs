//! The loopback interface or address for ranks on several machines.

use crate::read::settings::{Scope, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loopback-between-nodes",
    severity: Severity::Error,
    summary: "ranks on several machines do not use the loopback interface",
    explain: include_str!("loopback_between_nodes.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("cluster.env", "MASTER_ADDR=192.168.1.2\nNNODES=2\nNCCL_SOCKET_IFNAME=lo\n"),
        named("cluster.env", "MASTER_ADDR=localhost\nNNODES=2\n"),
        named("cluster.env", "MASTER_ADDR=node1\nGLOO_SOCKET_IFNAME=lo\n"),
    ],
    silent: &[
        named("cluster.env", "MASTER_ADDR=127.0.0.1\nNCCL_SOCKET_IFNAME=lo\nNNODES=1\n"),
        named("cluster.env", "MASTER_ADDR=node1\nNCCL_SOCKET_IFNAME=^lo,docker0\n"),
        named("cluster.env", "NCCL_SOCKET_IFNAME=lo\n"),
        named("run.sh", "NNODES=2 NODE_RANK=0 MASTER_ADDR=127.0.0.1 python train.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.scopes.iter().flat_map(of_scope).collect()
}

/// Variables that choose the interface.
const INTERFACES: &[&str] =
    &["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES"];

fn is_loopback(address: &str) -> bool {
    address == "localhost" || address.starts_with("127.") || address == "::1"
}

fn of_scope(scope: &Scope) -> Vec<Found> {
    let nodes = ["NNODES", "NUM_NODES", "SLURM_NNODES"]
        .iter()
        .find_map(|name| scope.value(name)?.parse::<u64>().ok());
    let master = scope.value("MASTER_ADDR").filter(|address| !address.is_empty() && !address.contains('$'));
    if nodes == Some(1) {
        return Vec::new();
    }
    let several = nodes.is_some_and(|nodes| nodes > 1);
    let elsewhere = master.is_some_and(|address| !is_loopback(address));
    // The first node listens on all of its addresses; the others may have the right one.
    let first = ["NODE_RANK", "MACHINE_RANK"].iter().any(|name| scope.value(name) == Some("0"));
    let mut found = Vec::new();
    for name in INTERFACES {
        let Some(setting) = scope.setting(name) else { continue };
        let value = setting.value.as_deref().unwrap_or_default();
        if !matches!(value, "lo" | "=lo") || !(several || elsewhere) {
            continue;
        }
        let message = format!("{name}={value} is the loopback interface, which reaches no other machine");
        let made = Found::error(
            setting.location.clone(),
            message,
            "Name the interface of the network between the nodes",
        );
        found.push(made.unless_certain(several));
    }
    let wrong = several && !first && master.is_some_and(is_loopback);
    if let Some(setting) = scope.setting("MASTER_ADDR").filter(|_| wrong) {
        let address = master.unwrap_or_default();
        let message = format!(
            "MASTER_ADDR={address} is another machine on each node; the rendezvous never \
                completes"
        );
        found.push(Found::error(setting.location.clone(), message, "Use the address of the first node"));
    }
    found
}
