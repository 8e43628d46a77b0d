//! Docker comes from a snap.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "docker-from-snap",
    group: Group::Docker,
    applies: Applies::Host,
    summary: "Docker is not a snap package",
    explain: "\
## What it checks
Whether the `docker` program, or a package named docker, lies below `/snap`.

## Why it matters
The snap runs confined: it sees neither the hook of the NVIDIA Container Toolkit on the host nor files
outside of home
directories, keeps its configuration in another place than `/etc/docker/daemon.json`, and `--gpus` ends in
\"could not
select device driver\".

## How to fix it
Remove the snap (its images and volumes go with it: save what you need) and install Docker Engine from the
distribution or from Docker.

## Sources
- NVIDIA/nvidia-container-toolkit#434; NVIDIA/nvidia-docker#1642 (\"could not select device driver\")
- https://docs.docker.com/engine/install/
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    if !*docker.snap.require("no snap")? {
        return Ok(Verdict::Pass);
    }
    let says = "Docker is installed as a snap, which sees neither the NVIDIA hook nor /etc/docker/daemon.json of the host; \
                --gpus ends in \"could not select device driver\"";
    let fix = Fix::disruptive(
        "Save images and volumes that you need, then install Docker Engine: https://docs.docker.com/engine/install/",
        &["sudo snap remove docker"],
    );
    let verdict = Verdict::warning(says, fix);
    Ok(match docker.program.known() {
        Some(path) => verdict.because(format!("the docker program is {path}")),
        None => verdict.because("/snap/docker exists"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::sparse::{Sparse, host, says};

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
