//! Docker comes from a snap.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "docker-from-snap",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "Docker is not a snap package",
    explain: "\
## What it checks
Whether the `docker` program, or a package named docker, lies below `/snap`.

## Why it matters
The snap runs confined: it reads its configuration from `/var/snap/docker/current/config/daemon.json`, not
from `/etc/docker/daemon.json`, and sees files below home directories only. It brings an NVIDIA toolkit of
its own: containers get GPUs with `--runtime nvidia`, and what the host's toolkit is told (`nvidia-ctk
runtime configure`) does not reach it. From 29.2.0 on it starts no GPU container where the host's toolkit
is installed too.

## How to fix it
Install Docker Engine from the distribution or from Docker, and remove the snap (its images and volumes go
with it: save what you need). To keep the snap, remove the host's toolkit and use `--runtime nvidia`.

## Sources
- canonical/docker-snap:README.md@01b33b9 (usage, NVIDIA support)
- NVIDIA/nvidia-container-toolkit#434; NVIDIA/nvidia-docker#1642 (\"could not select device driver\")
- docker/docs:content/manuals/engine/install/_index.md
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    if !*docker.snap.require("no snap")? {
        return Ok(Verdict::Pass);
    }
    let says = "Docker is a snap: it reads neither /etc/docker/daemon.json nor the host's NVIDIA toolkit, and gives GPUs only \
                with --runtime nvidia, by a toolkit of its own";
    let fix = Fix::restarts_service(
        "Save images and volumes that you need, then install Docker Engine: https://docs.docker.com/engine/install/",
        &["sudo snap remove docker"],
    );
    let verdict = Verdict::warning(says, fix);
    Ok(match docker.program.known() {
        Some(path) => verdict.evidence(format!("the docker program is {path}")),
        None => verdict.evidence("/snap/docker exists"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::host};

    #[test]
    fn a_snap_is_seen_by_its_path() {
        assert!(
            says(&CHECK, &host(&Sparse::new(&[("program docker", "/snap/bin/docker")])))
                .starts_with("warning: ")
        );
        assert!(says(&CHECK, &host(&Sparse::new(&[("stat /snap/docker", "{}")]))).starts_with("unknown: "));
        assert_eq!(says(&CHECK, &host(&Sparse::new(&[("program docker", "/usr/bin/docker")]))), "pass");
    }
}
