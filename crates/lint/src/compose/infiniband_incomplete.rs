//! InfiniBand devices without what RDMA needs.

use crate::read::compose::{Compose, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "infiniband-incomplete",
    severity: Severity::Warning,
    summary: "services with InfiniBand have its devices and can lock memory",
    explain: include_str!("infiniband_incomplete.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    devices:\n      - /dev/infiniband:/dev/infiniband\n"),
        compose("services:\n  a:\n    image: b\n    environment:\n      NCCL_IB_HCA: mlx5_0\n"),
    ],
    silent: &[
        compose("services:\n  exporter:\n    image: b\n    volumes: [\"/dev:/dev\"]\n"),
        compose(
            "services:\n  a:\n    image: b\n    devices: [/dev/infiniband]\n    ulimits: {memlock: -1}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    devices: [/dev/infiniband/uverbs0]\n    ulimits: \
             {memlock: {soft: -1, hard: -1}}\n    cap_add: [IPC_LOCK]\n    environment: \
             [NCCL_IB_HCA=mlx5_0]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    privileged: true\n    environment: [NCCL_IB_HCA=mlx5_0]\n",
        ),
        compose("services:\n  a:\n    image: b\n    environment: [NCCL_IB_DISABLE=1]\n"),
        compose(
            "services:\n  a:\n    image: b\n    environment: [NCCL_IB_HCA=mlx5_0]\n    command: torchrun \
             --standalone --nproc-per-node=4 t.py\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter(|service| !service.extends_elsewhere).filter_map(finding).collect()
}

fn finding(service: &Service) -> Option<Found> {
    if service.text("privileged").as_deref() == Some("true") {
        return None;
    }
    let mounts = [service.list(&["devices"]), service.list(&["volumes"])].concat();
    let devices =
        mounts.iter().any(|one| one.contains("/dev/infiniband") || one.starts_with("/dev:") || one == "/dev");
    let name = &service.name;
    // All devices of the host are mounted for many reasons.
    let named = mounts.iter().any(|one| one.contains("/dev/infiniband"));
    if devices && !named {
        return None;
    }
    if devices {
        let limit = service.at(&["ulimits", "memlock"]);
        let soft = limit.and_then(|limit| below(limit, &["soft"])).or(limit).and_then(text);
        let unlimited = soft.is_some_and(|limit| {
            limit == "-1" || limit.parse::<u64>().is_ok_and(|limit| limit > 1 << 30) || limit.contains('$')
        });
        let capable = service
            .list(&["cap_add"])
            .iter()
            .any(|one| matches!(one.as_str(), "IPC_LOCK" | "CAP_IPC_LOCK" | "ALL"));
        if unlimited || capable {
            return None;
        }
        let message = format!(
            "service {name} has InfiniBand but only the default memlock limit (64 KiB or 8 MiB); ibv_reg_mr \
             fails"
        );
        return Some(Found::warning(
            service.line_of("devices"),
            message,
            "Add `ulimits: {memlock: -1}` and `cap_add: [IPC_LOCK]`",
        ));
    }
    let environment = service.environment();
    let variable =
        ["NCCL_IB_HCA", "NCCL_IB_GID_INDEX"].into_iter().find(|name| environment.contains_key(*name))?;
    let disabled = environment.get("NCCL_IB_DISABLE").and_then(Option::as_deref) == Some("1");
    let command = crate::read::compose::words(service.at(&["command"])).join(" ").replace('=', " ");
    // Between the GPUs of one node NCCL needs no network.
    let one_node = ["--standalone", "--nnodes 1 ", "--num_nodes 1 ", "--num_machines 1 "];
    if disabled || one_node.iter().any(|option| command.contains(option)) {
        return None;
    }
    let message =
        format!("service {name} sets {variable} but has no /dev/infiniband; NCCL falls back to sockets");
    Some(Found::warning(
        service.line_of("environment"),
        message,
        "Add `devices: [/dev/infiniband]`, `ulimits: {memlock: -1}` and `cap_add: [IPC_LOCK]`",
    ))
}
