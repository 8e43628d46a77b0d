//! GPUs are to be given by CDI, and there is no specification.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;
use facts::docker::{ENGINE_WITH_GPUS_BY_CDI, State};

pub(super) const CHECK: Check = Check {
    id: "cdi-spec-missing",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "a CDI specification exists where containers get GPUs through CDI",
    explain: include_str!("cdi_spec_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let toolkit = &facts.toolkit;
    if toolkit.version.decided()?.is_none() {
        return Err(Verdict::NotApplicable("the container toolkit is not installed".into()));
    }
    let Some(need) = needs(facts)? else {
        return Err(Verdict::NotApplicable("not needed: --gpus uses the toolkit's hook".into()));
    };
    if !toolkit.gpu_specs().require("no CDI directory")?.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "{need}, but /etc/cdi and /var/run/cdi contain no CDI specification for NVIDIA GPUs; containers get \
         no GPU"
    );
    let fix = if toolkit.refresh_unit == Fact::Known(true) {
        let commands = ["sudo systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"];
        Fix::safe("Let the toolkit generate it now and after every driver change:", &commands)
    } else {
        Fix::safe(
            "Generate it now and again after every driver change:",
            &["sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"],
        )
    };
    Ok(Verdict::error(message, fix))
}

/// What on this machine gives GPUs by CDI; `None` where nothing does.
fn needs(facts: &Facts) -> Result<Option<&'static str>, Verdict> {
    let (docker, toolkit) = (&facts.docker, &facts.toolkit);
    if toolkit.mode() == Fact::Known("cdi".into()) {
        return Ok(Some("the NVIDIA runtime is in cdi mode"));
    }
    let others = docker.others.known().is_some_and(|others| !others.is_empty());
    if docker.state() == State::Missing && !others && docker.podman.decided()?.is_some() {
        return Ok(Some("Podman assigns GPUs through CDI"));
    }
    let cdi_hook = toolkit.program("nvidia-cdi-hook").decided()?.is_some();
    let hook = toolkit.program("nvidia-container-runtime-hook").decided()?.is_some();
    if cdi_hook
        && !hook
        && docker.state() == State::Running
        && *docker.at_least(ENGINE_WITH_GPUS_BY_CDI).require("no engine")?
    {
        return Ok(Some("Docker assigns GPUs through CDI because the toolkit's hook is not installed"));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::gpu_host;

    use facts::testing::sparse::{SOCKET, engine};

    const CONFIG: &str = "read /etc/nvidia-container-runtime/config.toml";

    fn of(more: &[(&str, &str)]) -> String {
        let mut facts = gpu_host(&engine(r#"{"ServerVersion":"29.7.2"}"#, more));
        facts.toolkit.version = Fact::Known("1.20.0".into());
        verdict_line(&CHECK, &facts)
    }

    #[test]
    fn reports_missing_spec_only_if_cdi_is_used() {
        let mode = (CONFIG, "[nvidia-container-runtime]\nmode = \"cdi\"\n");
        assert!(of(&[mode]).starts_with("error: the NVIDIA runtime is in cdi mode"));
        let spec = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n";
        assert_eq!(
            of(&[mode, ("list /etc/cdi", "nvidia.yaml"), ("read /etc/cdi/nvidia.yaml", spec)]),
            "pass"
        );
        let (cdi_hook, hook) =
            ("stat /usr/bin/nvidia-cdi-hook", "stat /usr/bin/nvidia-container-runtime-hook");
        assert!(of(&[(cdi_hook, SOCKET)]).starts_with("error: Docker assigns GPUs through CDI"));
        assert!(of(&[(cdi_hook, SOCKET), (hook, SOCKET)]).starts_with("not-applicable: not needed"));
        let unknown = engine("{}", &[mode]).failing(&[("list /etc/cdi", "no rights")]);
        let mut facts = gpu_host(&unknown);
        facts.toolkit.version = Fact::Known("1.20.0".into());
        assert_eq!(verdict_line(&CHECK, &facts), "unknown: /etc/cdi: no rights");
    }
}
