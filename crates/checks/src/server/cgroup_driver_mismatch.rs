//! Docker and the kubelet manage control groups differently.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "cgroup-driver-mismatch",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "Docker and a kubelet that uses it have the same cgroup driver",
    explain: include_str!("cgroup_driver_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let kubelet = docker.kubelet_cgroup_driver.require("no kubelet here")?;
    if !*docker.kubelet_uses_docker.require("no kubelet here")? {
        return Err(Verdict::NotApplicable("the kubelet does not use Docker".into()));
    }
    docker.answering()?;
    let engine = docker.info_text(&["CgroupDriver"]);
    let engine = engine.require("the engine reports no cgroup driver")?;
    if engine == kubelet {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "Docker's cgroup driver is {engine}, but the kubelet is configured for {kubelet}; the two must match"
    );
    let text = format!(
        "Set \"exec-opts\": [\"native.cgroupdriver={kubelet}\"] in daemon.json, drain the node and restart \
         both:"
    );
    Ok(Verdict::warning(message, Fix::restarts_service(text, &["sudo systemctl restart docker kubelet"])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn only_a_kubelet_on_docker_counts() {
        let of = |kubelet: &str, more: &[(&str, &str)]| {
            let mut readings = vec![("read /var/lib/kubelet/config.yaml", kubelet)];
            readings.extend_from_slice(more);
            verdict_line(&CHECK, &host(&engine(r#"{"CgroupDriver":"systemd"}"#, &readings)))
        };
        let shim = [("stat /run/cri-dockerd.sock", "{}")];
        assert!(of("cgroupDriver: cgroupfs\n", &shim).starts_with("warning: "));
        assert_eq!(of("cgroupDriver: systemd\n", &shim), "pass");
        assert!(of("cgroupDriver: cgroupfs\n", &[]).starts_with("not-applicable"));
        let unknown = Sparse::new(&[]).failing(&[("read /var/lib/kubelet/config.yaml", "permission denied")]);
        assert!(verdict_line(&CHECK, &host(&unknown)).starts_with("unknown"));
    }
}
