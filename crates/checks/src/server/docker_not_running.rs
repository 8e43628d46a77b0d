//! The engine is installed and does not run.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Fact;
use facts::Facts;
use facts::docker::{EndpointSource, State};

pub(super) const CHECK: Check = Check {
    id: "docker-not-running",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "the installed container engine is running",
    explain: include_str!("docker_not_running.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    match facts.docker.state() {
        State::Running => Ok(Verdict::Pass),
        State::Stopped(shown) if facts.docker.idle == Fact::Known(true) => {
            let message = "the engine is stopped until the first docker command starts it through systemd; \
                           envdoc does not start it, so checks that need a running engine did not run";
            Ok(Verdict::warning(message, start(facts)).evidence(shown))
        }
        State::Stopped(shown) => stopped(facts, shown),
        State::Missing => Err(Verdict::NotApplicable("no Docker engine on this machine".into())),
        State::Denied if facts.docker.command_line.known().is_some() => Ok(Verdict::Pass),
        State::Denied => Err(Verdict::Unknown("permission denied on the engine's socket".into())),
        State::Unknown(why) => Err(Verdict::Unknown(why)),
    }
}

fn stopped(facts: &Facts, shown: String) -> Judged {
    let other = facts.docker.endpoint.known().filter(|endpoint| endpoint.from.is_configured());
    if let Some(endpoint) = other {
        let message = format!(
            "the docker command uses {} (set by {}), where no engine is listening; every docker \
             command fails",
            endpoint.url, endpoint.from
        );
        let text = "Start that engine, or switch back to the default one:";
        let command = match endpoint.from {
            EndpointSource::DockerHost => "unset DOCKER_HOST",
            _ => "docker context use default",
        };
        return Ok(Verdict::error(message, Fix::safe(text, &[command])).evidence(shown));
    }
    // What keeps dockerd from starting is one finding, and this is its consequence.
    let causes = [
        &super::daemon_json_invalid::CHECK,
        &super::daemon_json_unknown_key::CHECK,
        &super::daemon_json_flag_conflict::CHECK,
        &super::docker_nvidia_runtime_missing::CHECK,
    ];
    let cause = causes.iter().find(|check| {
        matches!((check.judge)(facts), Ok(Verdict::Found(found)) if found.severity == Severity::Error)
    });
    if let Some(cause) = cause {
        return Err(Verdict::NotApplicable(format!("the engine is not running: see {}", cause.id)));
    }
    Ok(Verdict::error(
        "the container engine is installed but not running; containers cannot start",
        start(facts),
    )
    .evidence(shown))
}

fn start(facts: &Facts) -> Fix {
    let docker = &facts.docker;
    if facts.system.systemd.known() == Some(&true) && docker.unit_file.known().is_some() {
        let commands = ["sudo systemctl start docker", "sudo journalctl -u docker.service -n 50 --no-pager"];
        Fix::safe("Start the engine; if it stops again, read its log:", &commands)
    } else if docker.init_script.known() == Some(&true) {
        let commands = ["sudo service docker start", "sudo tail -n 50 /var/log/docker.log"];
        Fix::safe("Start the engine; if it stops again, read its log:", &commands)
    } else {
        Fix::safe("Start the engine in a separate shell (no service manages it here):", &["sudo dockerd"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::SOCKET;

    #[test]
    fn stopped_engine_is_an_error_and_unresponsive_one_unknown() {
        let socket = [("stat /var/run/docker.sock", SOCKET)];
        let ask = "engine unix:///var/run/docker.sock /info";
        let refused = Sparse::new(&socket)
            .failing(&[(ask, facts::Missing::new(facts::MissingKind::Refused, "connection refused"))]);
        assert!(verdict_line(&CHECK, &host(&refused)).starts_with("error: "));
        let installed = Sparse::new(&[("stat /usr/bin/dockerd", SOCKET)]);
        assert!(verdict_line(&CHECK, &host(&installed)).starts_with("error: "));
        let silent =
            Sparse::new(&socket).failing(&[(ask, "the engine accepted the connection but did not answer")]);
        assert!(verdict_line(&CHECK, &host(&silent)).starts_with("unknown: "));
        assert_eq!(verdict_line(&CHECK, &host(&facts::testing::sparse::engine("{}", &[]))), "pass");
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
