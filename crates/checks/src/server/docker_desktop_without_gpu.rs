//! Docker Desktop answers, whose virtual machine has no GPU.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-desktop-without-gpu",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "on Linux with a GPU, the engine is Docker Engine and not Docker Desktop",
    explain: include_str!("docker_desktop_without_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    if !docker.is_desktop() {
        return Ok(Verdict::Pass);
    }
    if facts.system.wsl.decided()?.is_some() {
        return Err(Verdict::NotApplicable("under WSL2 Docker Desktop passes the GPU through".into()));
    }
    let message = "the engine is Docker Desktop, which runs in a virtual machine without access to the GPU; \
                   no container gets it";
    let fix = Fix::safe(
        "Install Docker Engine as https://docs.docker.com/engine/install/ describes, and switch to it:",
        &["docker context use default"],
    );
    Ok(Verdict::error(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::Fact;
    use facts::testing::sparse::engine;

    #[test]
    fn docker_desktop_outside_wsl_is_an_error() {
        let mut facts = gpu_host(&engine(r#"{"OperatingSystem":"Docker Desktop"}"#, &[]));
        facts.system.wsl = Fact::Absent;
        assert!(verdict_line(&CHECK, &facts).starts_with("error: "));
        facts.system.wsl = Fact::Unknown("no /proc".into());
        assert!(verdict_line(&CHECK, &facts).starts_with("unknown"));
        assert_eq!(
            verdict_line(&CHECK, &gpu_host(&engine(r#"{"OperatingSystem":"Ubuntu 24.04.3 LTS"}"#, &[]))),
            "pass"
        );
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
