//! Why a login from one container to another fails. `docker::transport::ssh::messages` reads what ssh prints.

use diagnostic::Fix;
use docker::transport::ssh::messages::{Fault, Messages};

use crate::fixes;
use crate::problem::{Problem, Step};

const STEP: Step = Step::Verify;

/// Why a login failed; the text is ssh's own line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The server's host key is not the one in known_hosts.
    #[error("{0}")]
    HostKey(String),
    /// Other users may read the private key.
    #[error("{0}")]
    KeyPermissions(String),
    #[error("{0}")]
    Other(String),
    /// ssh could not be run in the container.
    #[error(transparent)]
    Engine(#[from] docker::Error),
    /// The login took too long.
    #[error("no answer within {:.0} s", .0.as_secs_f64())]
    TimedOut(std::time::Duration),
}

impl LoginError {
    /// From what ssh printed.
    pub fn of(stderr: &str) -> LoginError {
        let messages = Messages::of(stderr);
        match messages.fault() {
            Some((Fault::KeyReadableByOthers, line)) => LoginError::KeyPermissions(line.to_owned()),
            Some((Fault::HostKeyChanged | Fault::HostKeyUnknown, line)) => {
                LoginError::HostKey(line.to_owned())
            }
            _ => {
                let last = messages.last(1).first().copied();
                LoginError::Other(last.unwrap_or("ssh exited without output").to_owned())
            }
        }
    }
}

/// A failed ssh login.
pub fn unlogged(a: &str, b: &str, why: &LoginError) -> Problem {
    let problem = Problem::of(STEP, a, format!("ssh from {a} to {b} fails: {why}"));
    if matches!(why, LoginError::HostKey(_)) {
        return problem.fix(fixes::recreate("Write host keys and known_hosts again:"));
    }
    if matches!(why, LoginError::KeyPermissions(_)) {
        let message = format!(
            "ssh in the container of {a} rejects its private key because other users can read it: {why}"
        );
        return Problem::of(STEP, a, message)
            .fix(fixes::restart_container(
                format!("Restart the container on {a}; its entrypoint writes the key again with mode 0600:"),
                a,
            ))
            .fix(Fix::manual("Check whether the image or `command` changes file modes below /run/envdoc"));
    }
    problem
        .fix(Fix::run("Show where the login fails:", format!("envdoc cluster exec {a} -- ssh -v {b} true")))
        .fix(fixes::read_sshd_log(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_ssh_error_output() {
        let key = "Load key \"/root/.ssh/id_ed25519\": bad permissions\nroot@node2: Permission denied \
            (publickey).\n";
        assert!(
            matches!(LoginError::of(key), LoginError::KeyPermissions(line) if line.starts_with("Load key"))
        );
        assert!(matches!(LoginError::of("Host key verification failed.\r\n"), LoginError::HostKey(_)));
        assert_eq!(
            LoginError::of("ssh: connect to host node2 port 2222: Connection refused\n").to_string(),
            "ssh: connect to host node2 port 2222: Connection refused"
        );
        assert_eq!(LoginError::of("").to_string(), "ssh exited without output");
    }
}
