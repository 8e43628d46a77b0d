//! daemon.json names a runtime that is not there.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "docker-nvidia-runtime-path-wrong",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "the NVIDIA runtimes in daemon.json exist",
    explain: include_str!("docker_nvidia_runtime_path_wrong.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let runtimes = facts.docker.runtime_paths.require("no daemon.json")?;
    let mut named =
        runtimes.iter().filter(|r| r.name.contains("nvidia") || r.path.contains("nvidia")).peekable();
    if named.peek().is_none() {
        return Err(Verdict::NotApplicable("daemon.json defines no NVIDIA runtime".into()));
    }
    for runtime in named {
        if runtime.found.decided()?.is_some() {
            continue;
        }
        let default = facts.docker.configured();
        let default = default.known().and_then(|file| file.get("default-runtime")).and_then(Value::as_str);
        let which = if default == Some(runtime.name.as_str()) {
            "it is the default runtime, so every container fails to start"
        } else {
            "containers that use it fail to start"
        };
        let message = format!(
            "daemon.json sets {} for runtime {}, but that program does not exist; {which}",
            runtime.path, runtime.name
        );
        let commands =
            ["sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"];
        let fix = Fix::restarts_service(
            "Configure the runtime with the container toolkit (without the toolkit, remove the entry):",
            &commands,
        );
        return Ok(Verdict::error(message, fix).about(Subject::name(&runtime.name)));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    const FILE: &str = "read /etc/docker/daemon.json";
    const TEXT: &str = r#"{"default-runtime": "nvidia",
        "runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}"#;

    #[test]
    fn the_program_must_be_there() {
        let found = verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, TEXT)])));
        assert!(found.starts_with("error: ") && found.contains("every container"), "{found}");
        let there = ("stat /usr/bin/nvidia-container-runtime", facts::testing::sparse::SOCKET);
        assert_eq!(verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, TEXT), there]))), "pass");
        let unknown =
            Sparse::new(&[(FILE, TEXT)]).failing(&[("stat /usr/bin/nvidia-container-runtime", "no rights")]);
        assert_eq!(verdict_line(&CHECK, &host(&unknown)), "unknown: no rights");
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, "{}")]))).starts_with("not-applicable"));
    }
}
