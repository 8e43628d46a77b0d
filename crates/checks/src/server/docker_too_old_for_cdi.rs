//! CDI specifications are here that this engine cannot read.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use catalog::release::at_least;
use catalog::toolkit;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-too-old-for-cdi",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the engine supports this machine's CDI specifications",
    explain: include_str!("docker_too_old_for_cdi.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    let specs = facts.toolkit.gpu_specs();
    let specs = specs.require("no CDI specification found")?;
    let Some(spec) = specs.first() else {
        return Err(Verdict::NotApplicable("no CDI specification for a GPU found".into()));
    };
    let text = docker.info_text(&["ServerVersion"]);
    let text = text.require("the engine reports no version")?;
    let fix = Fix::restarts_service("Upgrade Docker Engine: https://docs.docker.com/engine/install/", &[]);
    if !*docker.at_least(toolkit::ENGINE_WITH_GPUS_FLAG).require("the engine reports no version")? {
        return Err(Verdict::NotApplicable("see docker-too-old-for-gpus".into()));
    }
    // The toolkit writes one below /var/run by itself, and --gpus has the hook.
    let hook = facts.toolkit.program("nvidia-container-runtime-hook").decided()?.is_some();
    if hook && specs.iter().all(|spec| spec.path.starts_with("/var/run/")) {
        return Err(Verdict::NotApplicable("not needed: --gpus uses the toolkit's hook".into()));
    }
    if !*docker.at_least(toolkit::ENGINE_WITH_CDI).require("the engine reports no version")? {
        let message = format!(
            "Docker {text} does not support CDI (25.0 is the first release that does) and ignores {}; only \
             --gpus works",
            spec.path
        );
        return Ok(Verdict::warning(message, fix).about(Subject::file(&spec.path)));
    }
    let new_format = specs.iter().any(|spec| at_least(&spec.cdi_version, "0.7.0") == Some(true));
    if new_format
        && !*docker.at_least(toolkit::ENGINE_WITH_CDI_0_7).require("the engine reports no version")?
    {
        let message = format!(
            "Docker {text} cannot read {}, which uses CDI {}; 26.1.0 or newer can",
            spec.path, spec.cdi_version
        );
        return Ok(Verdict::warning(message, fix).about(Subject::file(&spec.path)));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::gpu_host;

    use facts::testing::sparse::engine;

    #[test]
    fn minimum_docker_version_depends_on_cdi_version() {
        let of = |version: &str, format: &str| {
            let spec = format!("cdiVersion: {format}\nkind: nvidia.com/gpu\ndevices:\n- name: all\n");
            let more = [("list /etc/cdi", "nvidia.yaml"), ("read /etc/cdi/nvidia.yaml", spec.as_str())];
            verdict_line(&CHECK, &gpu_host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &more)))
        };
        assert!(of("24.0.7", "0.5.0").starts_with("warning: Docker 24.0.7 does not support CDI"));
        assert!(of("25.0.5", "0.7.0").contains("26.1.0 or newer"));
        assert_eq!(of("25.0.5", "0.5.0"), "pass");
        assert_eq!(of("29.1.0", "0.7.0"), "pass");
        let none = gpu_host(&engine(r#"{"ServerVersion":"24.0.7"}"#, &[]));
        assert!(verdict_line(&CHECK, &none).starts_with("not-applicable"));
    }
}
