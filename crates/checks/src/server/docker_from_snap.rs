//! Docker comes from a snap.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-from-snap",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "Docker is not a snap package",
    explain: include_str!("docker_from_snap.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    if !*docker.snap.require("no snap")? {
        return Ok(Verdict::Pass);
    }
    let message = "Docker is installed as a snap: it ignores /etc/docker/daemon.json and the host's NVIDIA \
                   toolkit, and gives GPUs only with --runtime nvidia through its own toolkit";
    let fix = Fix::restarts_service(
        "Save images and volumes that you need, then replace the snap with Docker Engine as \
         https://docs.docker.com/engine/install/ describes:",
        &["sudo snap remove docker"],
    );
    let verdict = Verdict::warning(message, fix);
    Ok(match docker.program.known() {
        Some(path) => verdict.evidence(format!("docker program: {path}")),
        None => verdict.evidence("/snap/docker exists"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    #[test]
    fn a_snap_is_seen_by_its_path() {
        assert!(
            verdict_line(&CHECK, &host(&Sparse::new(&[("program docker", "/snap/bin/docker")])))
                .starts_with("warning: ")
        );
        assert!(
            verdict_line(&CHECK, &host(&Sparse::new(&[("stat /snap/docker", "{}")])))
                .starts_with("unknown: ")
        );
        assert_eq!(
            verdict_line(&CHECK, &host(&Sparse::new(&[("program docker", "/usr/bin/docker")]))),
            "pass"
        );
    }
}
