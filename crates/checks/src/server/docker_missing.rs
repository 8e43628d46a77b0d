//! No container engine is installed.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::State;

pub(super) const CHECK: Check = Check {
    id: "docker-missing",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "a container engine is installed",
    explain: include_str!("docker_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    match docker.state() {
        State::Running | State::Stopped(_) | State::Denied => return Ok(Verdict::Pass),
        State::Unknown(why) => return Err(Verdict::Unknown(why)),
        State::Missing => {}
    }
    if docker.endpoint.known().is_some_and(|endpoint| endpoint.elsewhere) {
        return Err(Verdict::NotApplicable("the docker command uses an engine on another machine".into()));
    }
    if docker.podman.decided()?.is_some() || docker.podman_socket.decided()?.is_some() {
        return Err(Verdict::NotApplicable("Podman is installed instead".into()));
    }
    let others = docker.others.decided()?.map_or(String::new(), |others| others.join(", "));
    if !others.is_empty() {
        return Err(Verdict::NotApplicable(format!("containers run without Docker here ({others})")));
    }
    let program = docker.program.decided()?;
    let message = match program {
        Some(path) => format!(
            "the docker client is installed ({path}) but no engine: no dockerd, socket or docker.service; \
             images cannot be built and containers cannot start"
        ),
        None => "no container engine is installed; images cannot be built and containers cannot start \
                 (expected on a machine that runs programs without containers)"
            .to_owned(),
    };
    let id = facts.system.os.known().map(|os| os.id.as_str()).unwrap_or_default();
    let package = match id {
        "fedora" => Some("moby-engine"),
        "debian" | "ubuntu" | "linuxmint" | "pop" => Some("docker.io"),
        "arch" | "opensuse-leap" | "opensuse-tumbleweed" | "amzn" => Some("docker"),
        _ => None,
    };
    let command = package.and_then(|package| facts.system.os.known()?.install(package));
    let title = match command {
        Some(_) => "Install the distribution's Docker package:",
        None => "Install Docker Engine: https://docs.docker.com/engine/install/",
    };
    let mut fix = Fix::safe(title, &[]);
    fix.commands.extend(command);
    let verdict =
        if program.is_some() { Verdict::error(message, fix) } else { Verdict::warning(message, fix) };
    Ok(match package {
        Some(_) => verdict
            .or_fix(Fix::manual("Install Docker's own packages: https://docs.docker.com/engine/install/")),
        None => verdict,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    #[test]
    fn missing_docker_is_reported_unless_another_engine_exists() {
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("warning: no container engine"));
        let client = Sparse::new(&[("program docker", "/usr/local/bin/docker")]);
        assert!(verdict_line(&CHECK, &host(&client)).starts_with("error: the docker client is installed"));
        let podman = Sparse::new(&[("program podman", "/usr/bin/podman")]);
        assert!(verdict_line(&CHECK, &host(&podman)).starts_with("not-applicable"));
        assert_eq!(verdict_line(&CHECK, &host(&facts::testing::sparse::engine("{}", &[]))), "pass");
        for other in ["stat /run/containerd/containerd.sock", "program enroot", "program slurmd"] {
            assert!(
                verdict_line(&CHECK, &host(&Sparse::new(&[(other, "{}")]))).starts_with("not-applicable"),
                "{other}"
            );
        }
        let remote = Sparse::new(&[("environment", "DOCKER_HOST=ssh://gpu")]);
        assert!(verdict_line(&CHECK, &host(&remote)).starts_with("not-applicable"));
        let unknown = Sparse::new(&[])
            .failing(&[("program dockerd", "no PATH"), ("stat /usr/sbin/dockerd", "no rights")]);
        assert!(
            verdict_line(&CHECK, &host(&unknown)).starts_with("unknown"),
            "{}",
            verdict_line(&CHECK, &host(&unknown))
        );
    }
}
