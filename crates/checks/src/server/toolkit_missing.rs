//! The NVIDIA Container Toolkit is not installed.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::State;

pub(super) const CHECK: Check = Check {
    id: "toolkit-missing",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the NVIDIA Container Toolkit is installed where containers need the GPU",
    explain: include_str!("toolkit_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    if docker.state() == State::Missing && docker.podman.decided()?.is_none() {
        return Err(Verdict::NotApplicable("no container engine on this machine".into()));
    }
    let podman_only = docker.state() == State::Missing;
    if podman_only && docker.others.decided()?.is_some_and(|others| !others.is_empty()) {
        return Err(Verdict::NotApplicable("containers run without Docker here".into()));
    }
    if docker.is_desktop() {
        return Err(Verdict::NotApplicable("Docker Desktop includes its own toolkit".into()));
    }
    let programs = facts.toolkit.programs.decided()?;
    if facts.toolkit.version.decided()?.is_some() || programs.is_some_and(|programs| !programs.is_empty()) {
        return Ok(Verdict::Pass);
    }
    let message = "the NVIDIA Container Toolkit is not installed; no container gets the GPU (\"could not \
                   select device driver\")";
    let guide = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html";
    let mut fix = Fix::restarts_service(
        format!("Set up NVIDIA's package repository as {guide} describes, then install the toolkit:"),
        &[],
    );
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install("nvidia-container-toolkit")));
    if docker.state() != State::Missing {
        fix.commands.push("sudo nvidia-ctk runtime configure --runtime=docker".into());
        fix.commands.push("sudo systemctl restart docker".into());
    }
    // Podman comes with the distribution, whether it is to have GPUs or not.
    Ok(if podman_only { Verdict::warning(message, fix) } else { Verdict::error(message, fix) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{
        Sparse,
        sparse::{gpu_host, host},
    };

    use facts::testing::sparse::{SOCKET, engine};

    #[test]
    fn toolkit_is_required_with_docker_and_a_gpu() {
        let mut facts = gpu_host(&engine("{}", &[]));
        facts.toolkit.version = facts::Fact::Absent;
        assert!(verdict_line(&CHECK, &facts).starts_with("error: "));
        let with = engine("{}", &[("stat /usr/bin/nvidia-container-runtime-hook", SOCKET)]);
        assert!(
            verdict_line(&CHECK, &gpu_host(&with)).starts_with("unknown: ")
                || verdict_line(&CHECK, &gpu_host(&with)) == "pass"
        );
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
        facts.toolkit.version = facts::Fact::Unknown("dpkg-query: status 2".into());
        assert_eq!(verdict_line(&CHECK, &facts), "unknown: dpkg-query: status 2");
        assert!(verdict_line(&CHECK, &host(&engine("{}", &[]))).starts_with("not-applicable: no NVIDIA GPU"));
    }
}
