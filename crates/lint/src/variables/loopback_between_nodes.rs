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
        named(
            "start_node.sh",
            "#!/usr/bin/env bash\nsource .env.cluster\nexport NCCL_SOCKET_IFNAME=lo\ntorchrun \
             \\\n  --nnodes=2 \
             \\\n  --node_rank=\"$1\" \\\n  --nproc_per_node=4 \\\n  --master_addr=\"$MASTER_ADDR\" \
             train.py\n",
        ),
        named(
            "run.sh",
            "mpirun -np 16 -H node1:8,node2:8 -x NCCL_SOCKET_IFNAME=lo -x PATH python train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\nexport NCCL_SOCKET_IFNAME=lo\nsrun \
             python train.py\n",
        ),
    ],
    silent: &[
        named("cluster.env", "MASTER_ADDR=127.0.0.1\nNCCL_SOCKET_IFNAME=lo\nNNODES=1\n"),
        named("cluster.env", "MASTER_ADDR=node1\nNCCL_SOCKET_IFNAME=^lo,docker0\n"),
        named("cluster.env", "NCCL_SOCKET_IFNAME=lo\n"),
        named("run.sh", "NNODES=2 NODE_RANK=0 MASTER_ADDR=127.0.0.1 python train.py\n"),
        named("run.sh", "export NCCL_SOCKET_IFNAME=lo\ntorchrun --standalone --nproc_per_node=8 train.py\n"),
        named(
            "run.sh",
            "export NCCL_SOCKET_IFNAME=lo\nexport NCCL_SOCKET_IFNAME=ens6\ntorchrun --nnodes=2 --node_rank=0 \
             --master_addr=node1 train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport NCCL_SOCKET_IFNAME=lo\nsrun torchrun --standalone \
             --nproc_per_node=8 \
             train.py\n",
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.scopes.iter().flat_map(|scope| of_scope(scope, settings.nodes)).collect()
}

/// Variables that choose the interface.
const INTERFACES: &[&str] =
    &["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES"];

fn is_loopback(address: &str) -> bool {
    address == "localhost" || address.starts_with("127.") || address == "::1"
}

/// `started`: on how many machines the script of the scope starts ranks.
fn of_scope(scope: &Scope, started: Option<u64>) -> Vec<Found> {
    let nodes = ["NNODES", "NUM_NODES", "SLURM_NNODES"]
        .iter()
        .find_map(|name| scope.value(name)?.parse::<u64>().ok());
    let master = scope.value("MASTER_ADDR").filter(|address| !address.is_empty() && !address.contains('$'));
    if nodes == Some(1) || nodes.is_none() && started == Some(1) {
        return Vec::new();
    }
    let several = nodes.is_some_and(|nodes| nodes > 1);
    let on_several = several || started.is_some_and(|nodes| nodes > 1);
    let elsewhere = master.is_some_and(|address| !is_loopback(address));
    // The first node listens on all of its addresses; the others may have the right one.
    let first = ["NODE_RANK", "MACHINE_RANK"].iter().any(|name| scope.value(name) == Some("0"));
    let mut found = Vec::new();
    for name in INTERFACES {
        let Some(setting) = scope.setting(name) else { continue };
        let value = setting.value.as_deref().unwrap_or_default();
        if !matches!(value, "lo" | "=lo") || !(on_several || elsewhere) {
            continue;
        }
        let message = format!("{name}={value} is the loopback interface, which reaches no other machine");
        let made = Found::error(
            setting.location.clone(),
            message,
            "Name the interface of the network between the nodes",
        );
        found.push(made.unless_certain(on_several));
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
