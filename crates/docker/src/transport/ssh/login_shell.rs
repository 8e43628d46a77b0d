//! A login shell that ends before it runs what it was given. The only file that reads the message of nologin.

use diagnostic::Fix;

use super::{ConnectCause, ConnectError, SshAddress};

/// What nologin(8) prints where /etc/nologin.txt does not say otherwise.
const NOLOGIN_MESSAGE: &str = "This account is currently not available";
/// The most of what it printed that is shown, in characters.
const PRINTED_LIMIT: usize = 200;

/// The login shell ended with `status`, and printed this on standard output.
pub(super) fn ended(address: &SshAddress, status: i32, stdout: &str) -> ConnectError {
    let ssh = address.ssh_arguments();
    let who = address.login();
    let show = Fix::run("Show it:", format!("ssh {ssh} true; echo $?"));
    if stdout.contains(NOLOGIN_MESSAGE) {
        return ConnectError::new(format!(
            "{who} has a login shell that allows no login (nologin, exit status {status})"
        ))
        .caused_by(ConnectCause::LoginShell)
        .fix(show)
        .fix(Fix::run(
            "Use another user, or give this one a shell on that machine:",
            "usermod --shell /bin/bash USER",
        ));
    }
    let printed: Vec<&str> = stdout.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let printed: String = printed.join("; ").chars().take(PRINTED_LIMIT).collect();
    let printed = if printed.is_empty() { printed } else { format!("; it printed: {printed}") };
    ConnectError::new(format!(
        "the login shell of {who} ended with status {status} before it ran the command that envdoc \
         sent{printed}"
    ))
    .caused_by(ConnectCause::LoginShell)
    .fix(show)
    .fix(Fix::manual(
        "Possible causes on that machine: an `exit` in ~/.bashrc or another file that the shell reads, a \
         login shell such as nologin or false, or a forced command (ForceCommand in sshd_config, command= in \
         ~/.ssh/authorized_keys)",
    ))
}
