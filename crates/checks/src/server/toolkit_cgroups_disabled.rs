//! The toolkit leaves control groups alone under a rootful engine.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "toolkit-cgroups-disabled",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the toolkit grants device access to containers of a rootful engine",
    explain: include_str!("toolkit_cgroups_disabled.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let config = facts.toolkit.config.require("no config.toml (defaults apply)")?;
    if config.no_cgroups.decided()? != Some(&true) {
        return Ok(Verdict::Pass);
    }
    docker.answering()?;
    if *docker.rootless().require("no engine")? || docker.gives_gpus_by_cdi(&facts.toolkit)? {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "{} has no-cgroups = true, which is for rootless engines only; containers see the GPUs but cannot \
         open them (\"Failed to initialize NVML: Unknown Error\")",
        config.path
    );
    let fix = Fix::safe(
        "Set no-cgroups to false:",
        &["sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=false --in-place"],
    );
    Ok(Verdict::error(message, fix)
        .about(Subject { name: Some("no-cgroups".into()), ..Subject::file(&config.path) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::engine;

    #[test]
    fn no_cgroups_with_rootful_docker_is_an_error() {
        let of = |options: &str, config: &str| {
            let info = format!(r#"{{"ServerVersion":"27.5.1","SecurityOptions":[{options}]}}"#);
            verdict_line(
                &CHECK,
                &gpu_host(&engine(&info, &[("read /etc/nvidia-container-runtime/config.toml", config)])),
            )
        };
        let off = "[nvidia-container-cli]\nno-cgroups = true\n";
        assert!(of("", off).starts_with("error: "));
        assert_eq!(of(r#""name=rootless""#, off), "pass");
        assert_eq!(of("", "[nvidia-container-cli]\n"), "pass");
        let denied = Sparse::new(&[])
            .failing(&[("read /etc/nvidia-container-runtime/config.toml", "permission denied")]);
        assert!(verdict_line(&CHECK, &gpu_host(&denied)).starts_with("unknown: "));
    }
}
