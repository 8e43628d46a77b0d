//! dockerd finds no hook by which to give GPUs.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::{ENGINE_WITH_GPUS_BY_CDI, State};
use facts::service_path::SERVICE_PATH;

pub(super) const CHECK: Check = Check {
    id: "toolkit-hook-missing",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the hook that gives containers GPUs is on dockerd's PATH",
    explain: include_str!("toolkit_hook_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let (docker, toolkit) = (&facts.docker, &facts.toolkit);
    if docker.state() == State::Missing {
        return Err(Verdict::NotApplicable("no Docker engine on this machine".into()));
    }
    let programs = toolkit.programs.decided()?.is_none_or(Vec::is_empty);
    if toolkit.version.decided()?.is_none() && programs {
        return Err(Verdict::NotApplicable("the container toolkit is not installed".into()));
    }
    let hook = toolkit.program("nvidia-container-runtime-hook");
    let in_path = |path: &str| {
        SERVICE_PATH.iter().any(|dir| path.rsplit_once('/').is_some_and(|(parent, _)| parent == *dir))
    };
    let hook = hook.decided()?.copied();
    if hook.is_some_and(in_path) {
        return Ok(Verdict::Pass);
    }
    if let State::Running = docker.state()
        && docker.gives_gpus_by_cdi(toolkit)?
    {
        return Ok(Verdict::Pass);
    }
    // A newer engine with the toolkit's base needs only a specification: cdi-spec-missing says so.
    if hook.is_none()
        && docker.state() == State::Running
        && toolkit.program("nvidia-cdi-hook").decided()?.is_some()
        && *docker.at_least(ENGINE_WITH_GPUS_BY_CDI).require("no engine")?
    {
        return Err(Verdict::NotApplicable("this engine assigns GPUs through CDI, without the hook".into()));
    }
    let message = match hook {
        Some(path) => format!(
            "nvidia-container-runtime-hook is at {path}, which is not on dockerd's PATH; --gpus fails"
        ),
        None => {
            "nvidia-container-runtime-hook is not installed and dockerd does not use CDI instead; --gpus \
             fails"
                .to_owned()
        }
    };
    let mut fix = Fix::restarts_service(
        "Install nvidia-container-toolkit, which contains the hook, and restart Docker:",
        &[],
    );
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install("nvidia-container-toolkit")));
    fix.commands.push("sudo systemctl restart docker".into());
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
    fn hook_must_be_on_the_path_of_dockerd() {
        let of = |programs: &[(&str, &str)]| {
            let mut facts = gpu_host(&engine(r#"{"ServerVersion":"27.5.1"}"#, &[]));
            facts.toolkit.version = Fact::Known("1.17.8".into());
            facts.toolkit.programs =
                Fact::Known(programs.iter().map(|(n, p)| ((*n).into(), (*p).into())).collect());
            verdict_line(&CHECK, &facts)
        };
        assert!(of(&[]).starts_with("error: "));
        assert!(
            of(&[("nvidia-container-runtime-hook", "/opt/nvidia/bin/nvidia-container-runtime-hook")])
                .contains("not on dockerd's PATH")
        );
        assert_eq!(
            of(&[("nvidia-container-runtime-hook", "/usr/bin/nvidia-container-runtime-hook")]),
            "pass"
        );
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
        let mut facts = gpu_host(&engine("{}", &[]));
        facts.toolkit.programs = Fact::Unknown("no rights".into());
        assert!(verdict_line(&CHECK, &facts).starts_with("unknown"));
    }
}
