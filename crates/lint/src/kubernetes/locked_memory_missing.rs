//! RDMA in a pod without the right to lock memory.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "locked-memory-missing",
    severity: Severity::Warning,
    summary: "containers with RDMA devices may lock memory",
    explain: include_str!("locked_memory_missing.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod!("limits: {nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}"),
        pod!(
            "limits: {nvidia.com/gpu: 8, rdma/ib: 1}\n      securityContext: {capabilities: {add: \
                [IPC_LOK]}}"
        ),
    ],
    silent: &[
        pod!(
            "limits: {nvidia.com/gpu: 8, rdma/ib: 1}\n      securityContext: {capabilities: {add: \
                [IPC_LOCK]}}"
        ),
        pod!("limits: {nvidia.com/gpu: 8, rdma/ib: 1}\n      securityContext: {privileged: true}"),
        pod!("limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(missing)
}

fn missing(container: &Container) -> Option<Found> {
    let limits = container.resources("limits");
    let is_rdma = |name: &str| {
        name.starts_with("rdma/")
            || name.contains("infiniband")
            || name.contains("/roce")
            || name.ends_with("_rdma")
    };
    let (name, _) = limits.iter().find(|(name, _)| is_rdma(name))?;
    let privileged = scalar(container.value, &["securityContext", "privileged"]).as_deref() == Some("true");
    let added = below(container.value, &["securityContext", "capabilities"]);
    let added: Vec<String> =
        added.map_or_else(Vec::new, |one: &Value| list(one, "add").into_iter().filter_map(text).collect());
    let known = ["IPC_LOCK", "CAP_IPC_LOCK", "SYS_RESOURCE", "ALL"];
    if privileged || added.iter().any(|one| known.contains(&one.as_str())) {
        return None;
    }
    let message = format!(
        "container {} has {name}, but no capability IPC_LOCK; ibv_reg_mr fails at the limit of locked \
            memory",
        container.name
    );
    let fix = "Add `securityContext: {capabilities: {add: [IPC_LOCK]}}`";
    Some(Found::warning(container.line(&["resources", "limits", name]), message, fix))
}
