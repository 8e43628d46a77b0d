//! The engine does not know `--gpus`.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::toolkit;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-too-old-for-gpus",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the engine is 19.03 or newer and supports `--gpus`",
    explain: include_str!("docker_too_old_for_gpus.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    let text = docker.info_text(&["ServerVersion"]);
    let text = text.require("the engine reports no version")?;
    if *docker.at_least(toolkit::ENGINE_WITH_GPUS_FLAG).require("the engine reports no version")? {
        return Ok(Verdict::Pass);
    }
    let message = format!("Docker {text} does not support `docker run --gpus`; 19.03 or newer does");
    let fix = Fix::restarts_service("Upgrade Docker Engine: https://docs.docker.com/engine/install/", &[]);
    Ok(Verdict::error(message, fix).evidence(format!("ServerVersion {text} (/info)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::engine;

    #[test]
    fn the_version_is_compared_by_numbers() {
        let of = |version: &str| {
            verdict_line(&CHECK, &gpu_host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &[])))
        };
        assert!(of("17.06.1-ce").starts_with("error: Docker 17.06.1-ce does not support"));
        assert_eq!(of("20.10.24+dfsg1"), "pass");
        assert_eq!(of("19.03.15"), "pass");
        assert!(of("library-import").starts_with("unknown: "));
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
