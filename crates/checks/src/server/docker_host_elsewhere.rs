//! The docker program asks another machine.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::EndpointSource;

pub(super) const CHECK: Check = Check {
    id: "docker-host-elsewhere",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the docker command uses the engine on this machine",
    explain: include_str!("docker_host_elsewhere.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let endpoint = facts.docker.endpoint.require("no engine is configured")?;
    if !endpoint.elsewhere {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "docker commands go to another machine, {} (set by {}); envdoc checked this machine and its own \
         socket",
        endpoint.url, endpoint.from
    );
    let command = match endpoint.from {
        EndpointSource::DockerHost => "unset DOCKER_HOST",
        _ => "docker context use default",
    };
    Ok(Verdict::warning(message, Fix::safe("Switch back to the engine on this machine:", &[command])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    #[test]
    fn another_machine_is_named() {
        let remote = host(&Sparse::new(&[("environment", "DOCKER_HOST=ssh://root@gpu")]));
        assert!(
            verdict_line(&CHECK, &remote)
                .starts_with("warning: docker commands go to another machine, ssh://root@gpu")
        );
        assert_eq!(verdict_line(&CHECK, &host(&Sparse::new(&[]))), "pass");
        let unknown = host(&Sparse::new(&[]).failing(&[("environment", "not read")]));
        assert_eq!(verdict_line(&CHECK, &unknown), "unknown: not read");
    }
}
