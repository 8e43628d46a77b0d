//! Docker and the kubelet manage control groups differently.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "cgroup-driver-mismatch",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "Docker and a kubelet that runs containers in it use one cgroup driver",
    explain: "\
## What it checks
Where a kubelet runs its containers in Docker (`/run/cri-dockerd.sock`): whether `cgroupDriver` of
`/var/lib/kubelet/config.yaml` is the engine's. A kubelet beside Docker that uses containerd is none of
Docker's business.

## Why it matters
Kubernetes calls it critical that both have the same driver: two managers have two views of what is in
use, and nodes become unstable under pressure. A kubelet that asks the runtime for its driver
(KubeletCgroupDriverFromCRI) ignores its own setting; whether yours does, envdoc cannot see.

## How to fix it
Set the engine's driver to the kubelet's (`exec-opts` in `daemon.json`) and restart both; drain the node
before. Kubernetes advises to replace a node that has joined a cluster rather than to change it.

## Sources
- kubernetes/website:content/en/docs/setup/production-environment/container-runtimes.md@00524735
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let kubelet = docker.kubelet_cgroup_driver.require("no kubelet here")?;
    if !*docker.kubelet_uses_docker.require("no kubelet here")? {
        return Err(Verdict::NotApplicable("the kubelet does not run its containers in Docker".into()));
    }
    docker.answering()?;
    let engine = docker.info_text(&["CgroupDriver"]);
    let engine = engine.require("the engine names no cgroup driver")?;
    if engine == kubelet {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "the engine's cgroup driver is {engine}, the kubelet's configuration says {kubelet}; they must be one"
    );
    let text = format!(
        "Set \"exec-opts\": [\"native.cgroupdriver={kubelet}\"] in daemon.json, drain the node, then:"
    );
    Ok(Verdict::warning(says, Fix::restarts_service(text, &["sudo systemctl restart docker kubelet"])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn only_a_kubelet_on_docker_counts() {
        let of = |kubelet: &str, more: &[(&str, &str)]| {
            let mut readings = vec![("read /var/lib/kubelet/config.yaml", kubelet)];
            readings.extend_from_slice(more);
            says(&CHECK, &host(&engine(r#"{"CgroupDriver":"systemd"}"#, &readings)))
        };
        let shim = [("stat /run/cri-dockerd.sock", "{}")];
        assert!(of("cgroupDriver: cgroupfs\n", &shim).starts_with("warning: "));
        assert_eq!(of("cgroupDriver: systemd\n", &shim), "pass");
        assert!(of("cgroupDriver: cgroupfs\n", &[]).starts_with("not-applicable"));
        let unknown = Sparse::new(&[]).failing(&[("read /var/lib/kubelet/config.yaml", "permission denied")]);
        assert!(says(&CHECK, &host(&unknown)).starts_with("unknown"));
    }
}
