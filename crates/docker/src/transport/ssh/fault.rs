//! Why an SSH connection failed, from the messages of ssh, and how to fix it. The only file that reads these
//! messages.

use std::time::Duration;

use super::{ConnectError, SshAddress};

/// The most lines of ssh's that are shown where none of them is known.
const LINES_LIMIT: usize = 5;

/// ssh ended before the connection was ready.
pub(super) fn from_output(address: &SshAddress, stderr: &str, stdout: &str) -> ConnectError {
    let lines: Vec<&str> =
        stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("@@@")).collect();
    let line = |words: &str| lines.iter().copied().find(|line| line.contains(words));
    let (ssh, known_host) = (address.ssh_arguments(), address.known_hosts_name());
    if line("REMOTE HOST IDENTIFICATION HAS CHANGED").is_some() {
        let old = line("Offending").unwrap_or("the key in known_hosts differs");
        let new = line("SHA256:")
            .map(|line| format!("; it shows {}", line.trim_end_matches('.')))
            .unwrap_or_default();
        return ConnectError::new(format!("ssh: the host key of {known_host} has changed: {old}{new}"))
            .hint(
                "Ask the administrator whether the machine was reinstalled; if not, another machine \
                answers in its place",
            )
            .hint(format!(
                "After a confirmed reinstallation: ssh-keygen -R '{known_host}' && ssh {ssh} \
                true"
            ));
    }
    if line("Host key verification failed").is_some() {
        let unknown = line("host key is known for").unwrap_or("Host key verification failed");
        return ConnectError::new(format!("ssh: {unknown}"))
            .hint(format!(
                "Compare the fingerprint with the machine's own before you accept it: ssh {ssh} \
                true"
            ))
            .hint(
                "Show the machine's own fingerprint, on that machine: ssh-keygen -lf \
                /etc/ssh/ssh_host_ed25519_key.pub",
            );
    }
    if let Some(denied) = line("Permission denied (") {
        return ConnectError::new(format!("ssh: {denied}"))
            .hint(format!("Install your public key (password login is not supported): ssh-copy-id {ssh}"))
            .hint("Add a key with a passphrase to the agent: ssh-add");
    }
    let hints: &[(&str, &str)] = &[
        (
            "Could not resolve hostname",
            "Use the IP address, or add the name to DNS, /etc/hosts or ~/.ssh/config",
        ),
        (
            "Connection refused",
            "No SSH server listens on that port. Check it on that machine: systemctl \
            status ssh",
        ),
        (
            "timed out during banner exchange",
            "The port accepts connections but sends no SSH banner: check that an SSH server listens on it",
        ),
        ("timed out", "Check that the machine is up and that no firewall drops the packets"),
        ("No route to host", "Check that the machine is up and that there is a route to it"),
        (
            "Too many authentication failures",
            "The agent offers too many keys. Set IdentitiesOnly yes and IdentityFile in ~/.ssh/config",
        ),
        (
            "kex_exchange_identification",
            "The server closed the connection at once. Check its log: MaxStartups, denied address, or no \
             SSH server",
        ),
        (
            "Bad owner or permissions",
            "Remove write permission for others from the configuration: chmod 600 \
            ~/.ssh/config",
        ),
    ];
    for (words, hint) in hints {
        if let Some(line) = line(words) {
            return ConnectError::new(format!("ssh: {}", line.trim_start_matches("ssh: "))).hint(*hint);
        }
    }
    let said: Vec<&str> =
        lines.iter().copied().chain(stdout.lines().map(str::trim).filter(|line| !line.is_empty())).collect();
    match said.len() {
        0 => ConnectError::new(format!("ssh {ssh} exited without a message")),
        count => ConnectError::new(format!("ssh: {}", said[count.saturating_sub(LINES_LIMIT)..].join("; "))),
    }
}

/// ssh was still at it when the time was up.
pub(super) fn timed_out(address: &SshAddress, stderr: &str, after: Duration) -> ConnectError {
    let said = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = said.map(|line| format!("; last message of ssh: {line}")).unwrap_or_default();
    ConnectError::new(format!(
        "no SSH connection to {} within {:.1} s{said}",
        address.ssh_arguments(),
        after.as_secs_f32()
    ))
    .hint(format!("Show where the connection hangs: ssh -v {} true", address.ssh_arguments()))
}

/// The connection is there, the engine's socket is not. `probed`: the user there, and what `test` found, a
/// word a line.
pub(super) fn from_socket(address: &SshAddress, why: &str, probed: Option<&str>) -> ConnectError {
    let SshAddress { host, socket, .. } = address;
    let Some(probed) = probed else {
        return ConnectError::new(format!("SSH connected, but {socket} on {host} cannot be used: {why}"));
    };
    let user = probed.lines().next().unwrap_or_default().trim();
    let found = |word: &str| probed.lines().skip(1).any(|line| line.trim() == word);
    if found("absent") {
        return ConnectError::new(format!(
            "{socket} does not exist on {host}, or {user} has no access to its directory: {why}"
        ))
        .hint(format!(
            "Start the engine on {host} (systemctl start docker), or give its socket: \
             ssh://{host}/run/user/1000/docker.sock"
        ));
    }
    if !found("socket") {
        return ConnectError::new(format!("{socket} on {host} is not a socket: {why}"));
    }
    if !found("open") {
        return ConnectError::new(format!("{user} has no permission to use {socket} on {host}: {why}")).hint(
            format!(
                "Add the user to the docker group on {host}, then log in again: usermod -aG docker \
            {user}"
            ),
        );
    }
    // OpenSSH says the same of a socket that it may not forward and of one that nobody listens on.
    if found("listens") {
        return ConnectError::new(format!(
            "an engine listens at {socket} on {host}, but the SSH server does \
            not forward it: {why}"
        ))
        .hint(format!(
            "On {host}, set AllowStreamLocalForwarding yes in sshd_config and remove \
                `restrict` before the key in authorized_keys"
        ));
    }
    ConnectError::new(format!("no engine listens at {socket} on {host}: {why}"))
        .hint(format!("Check the engine on {host}: systemctl status docker"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> SshAddress {
        SshAddress::parse("ssh://root@127.0.0.1:2201").unwrap()
    }

    #[test]
    fn ssh_is_quoted_and_the_way_out_is_named() {
        let unknown = from_output(
            &address(),
            "No ED25519 host key is known for [127.0.0.1]:2201 and you have requested strict checking.\r\nHost key verification failed.\r\n",
            "",
        );
        assert_eq!(
            unknown.message,
            "ssh: No ED25519 host key is known for [127.0.0.1]:2201 and you have requested strict checking."
        );
        assert!(unknown.hints[0].ends_with("ssh -p 2201 root@127.0.0.1 true"));
        let changed = from_output(
            &address(),
            "@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\nSHA256:abc.\r\nOffending ED25519 key in /root/.ssh/known_hosts:3\r\nHost key verification failed.\r\n",
            "",
        );
        assert!(
            changed.message.contains(
                "has changed: Offending ED25519 key in /root/.ssh/known_hosts:3; it shows SHA256:abc"
            )
        );
        assert!(changed.hints[1].contains("ssh-keygen -R '[127.0.0.1]:2201'"));
        let denied = from_output(&address(), "root@127.0.0.1: Permission denied (publickey).\r\n", "");
        assert_eq!(denied.message, "ssh: root@127.0.0.1: Permission denied (publickey).");
        let shell = from_output(&address(), "", "This account is currently not available.\n");
        assert_eq!(shell.message, "ssh: This account is currently not available.");
    }

    #[test]
    fn the_state_of_the_socket_is_told_as_seen_there() {
        let why = "channel 3: open failed: connect failed: open failed";
        let says = |probed| from_socket(&address(), why, probed).message;
        assert!(says(Some("ann\nabsent\n")).contains("does not exist"));
        assert!(says(Some("ann\nsocket\n")).contains("ann has no permission to use /var/run/docker.sock"));
        assert!(says(Some("ann\nsocket\nopen\n")).contains("no engine listens"));
        assert!(says(Some("ann\nsocket\nopen\nlistens\n")).contains("does not forward it"));
        assert!(says(Some("ann\n")).contains("not a socket"));
        assert!(says(None).contains(why));
    }
}
