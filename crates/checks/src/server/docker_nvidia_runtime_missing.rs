//! daemon.json wants the nvidia runtime, and nothing defines it.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::{State, flags};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "docker-nvidia-runtime-missing",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the nvidia runtime is defined where it is the default",
    explain: include_str!("docker_nvidia_runtime_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    if docker.state() == State::Missing {
        return Err(Verdict::NotApplicable("no Docker engine on this machine".into()));
    }
    let value = docker.configured();
    let file = value.decided()?;
    let argv = docker.unit.decided()?.map(|unit| &unit.argv);
    let given = argv.map(|argv| flags(facts.catalog, argv)).unwrap_or_default();
    let by_flag = given.iter().find(|(name, _)| name == "default-runtime").map(|(_, value)| value.as_str());
    let by_file = file.and_then(|file| file.get("default-runtime")).and_then(Value::as_str);
    if by_file.or(by_flag) != Some("nvidia") {
        return Err(Verdict::NotApplicable(
            "not needed: only --runtime=nvidia uses it, --gpus does not".into(),
        ));
    }
    let defined = file.and_then(|file| file.pointer("/runtimes/nvidia")).is_some()
        || given.iter().any(|(name, value)| name == "add-runtime" && value.starts_with("nvidia="));
    if defined {
        return Ok(Verdict::Pass);
    }
    let message = "nvidia is the default runtime but is not defined; dockerd or every container fails to \
                   start";
    let commands = ["sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"];
    Ok(Verdict::error(
        message,
        Fix::restarts_service("Add the runtime with the toolkit (or remove default-runtime):", &commands),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::engine;

    #[test]
    fn runtime_is_required_only_if_it_is_the_default() {
        let with = |text: &str| {
            verdict_line(&CHECK, &gpu_host(&engine("{}", &[("read /etc/docker/daemon.json", text)])))
        };
        assert!(with(r#"{"default-runtime": "nvidia"}"#).starts_with("error: "));
        assert!(with("{}").starts_with("not-applicable: not needed"));
        let both =
            r#"{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}"#;
        assert_eq!(with(both), "pass");
        assert!(with("{").starts_with("unknown: "));
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
