//! Docker and the kubelet manage control groups differently.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "cgroup-driver-mismatch",
    group: Group::Docker,
    applies: Applies::Host,
    summary: "Docker and a kubelet that runs containers in it use one cgroup driver",
    explain: "\
## What it checks
Where a kubelet runs its containers in Docker (`/run/cri-dockerd.sock`): whether `cgroupDriver` of
`/var/lib/kubelet/config.yaml` is the engine's. A kubelet beside Docker that uses containerd is none of
Docker's
business.

## Why it matters
Two managers of one tree of control groups disagree under memory pressure, and pods fail to start.

## How to fix it
Set the engine's driver to the kubelet's (`exec-opts` in `daemon.json`) and restart both; drain the node
before.

## Sources
- https://kubernetes.io/docs/setup/production-environment/container-runtimes/#cgroup-drivers
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
    let says = format!("the engine's cgroup driver is {engine}, the kubelet's {kubelet}; they must be one");
    let text = format!(
        "Set \"exec-opts\": [\"native.cgroupdriver={kubelet}\"] in daemon.json, drain the node, then:"
    );
    Ok(Verdict::error(says, Fix::disruptive(text, &["sudo systemctl restart docker kubelet"])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::sparse::{Sparse, host, says};

    use crate::facts::sparse::engine;

    #[test]
    fn only_a_kubelet_on_docker_counts() {
        let of = |kubelet: &str, more: &[(&str, &str)]| {
            let mut readings = vec![("read /var/lib/kubelet/config.yaml", kubelet)];
            readings.extend_from_slice(more);
            says(&CHECK, &host(&engine(r#"{"CgroupDriver":"systemd"}"#, &readings)))
        };
        let shim = [("stat /run/cri-dockerd.sock", "{}")];
        assert!(of("cgroupDriver: cgroupfs\n", &shim).starts_with("error: "));
        assert_eq!(of("cgroupDriver: systemd\n", &shim), "pass");
        assert!(of("cgroupDriver: cgroupfs\n", &[]).starts_with("not-applicable"));
        let unknown = Sparse::new(&[]).failing(&[("read /var/lib/kubelet/config.yaml", "permission denied")]);
        assert!(says(&CHECK, &host(&unknown)).starts_with("unknown"));
    }
}
