//! Podman replaces Docker.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::State;

pub(super) const CHECK: Check = Check {
    id: "podman-in-place-of-docker",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine is Docker, or Podman's Docker-compatible socket is on",
    explain: include_str!("podman_in_place_of_docker.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    let engine = !matches!(docker.state(), State::Missing | State::Unknown(_));
    if engine && !docker.is_podman() {
        return Ok(Verdict::Pass);
    }
    if let State::Unknown(why) = docker.state() {
        return Err(Verdict::Unknown(why));
    }
    if docker.podman.decided()?.is_none() && !docker.is_podman() {
        return Err(Verdict::NotApplicable("no Podman on this machine".into()));
    }
    if docker.podman_socket.decided()?.is_some() {
        return Ok(Verdict::Pass);
    }
    if docker.program.decided()?.is_none() {
        return Err(Verdict::NotApplicable("no docker command here: Podman is used directly".into()));
    }
    let message = "Podman replaces Docker here but its socket is off; programs that use the Docker API, \
                   including envdoc, cannot build or start containers";
    let fix = Fix::safe(
        "Enable Podman's socket and point programs to it:",
        &["sudo systemctl enable --now podman.socket", "export DOCKER_HOST=unix:///run/podman/podman.sock"],
    );
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::{SOCKET, engine};

    #[test]
    fn podman_needs_its_socket() {
        let podman = [("program podman", "/usr/bin/podman")];
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&podman))).starts_with("not-applicable"));
        let both = [podman[0], ("program docker", "/usr/bin/docker")];
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&both))).starts_with("warning: "));
        let listening = Sparse::new(&[podman[0], ("stat /run/podman/podman.sock", SOCKET)]);
        assert_eq!(verdict_line(&CHECK, &host(&listening)), "pass");
        assert_eq!(verdict_line(&CHECK, &host(&engine("{}", &[]))), "pass");
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
        let unknown = Sparse::new(&[]).failing(&[("program podman", "PATH is not searched")]);
        assert!(verdict_line(&CHECK, &host(&unknown)).starts_with("unknown"));
    }
}
