//! A rootless engine, and the toolkit is not set for one.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-rootless",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the toolkit has no-cgroups set for a rootless engine",
    explain: include_str!("docker_rootless.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    if !*docker.rootless().require("no engine")? {
        return Err(Verdict::NotApplicable("the engine is not rootless".into()));
    }
    if facts.toolkit.version.decided()?.is_none() {
        return Err(Verdict::NotApplicable("the container toolkit is not installed".into()));
    }
    let config = facts.toolkit.config.decided()?;
    if config.is_some_and(|config| config.no_cgroups == Fact::Known(true))
        || docker.gives_gpus_by_cdi(&facts.toolkit)?
    {
        return Ok(Verdict::Pass);
    }
    let message = "the engine is rootless but the toolkit's no-cgroups is not set; containers with --gpus do \
                   not start";
    let fix = Fix::safe(
        "Set no-cgroups in the toolkit's configuration:",
        &["sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"],
    );
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::engine;

    #[test]
    fn rootless_docker_requires_no_cgroups() {
        let info = r#"{"ServerVersion":"27.5.1","SecurityOptions":["name=seccomp","name=rootless"]}"#;
        let with = |config: &str| {
            let mut facts =
                gpu_host(&engine(info, &[("read /etc/nvidia-container-runtime/config.toml", config)]));
            facts.toolkit.version = Fact::Known("1.17.8".into());
            verdict_line(&CHECK, &facts)
        };
        assert!(with("[nvidia-container-cli]\n").starts_with("warning: "));
        assert_eq!(with("[nvidia-container-cli]\nno-cgroups = true\n"), "pass");
        assert!(verdict_line(&CHECK, &gpu_host(&engine("{}", &[]))).starts_with("not-applicable"));
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
