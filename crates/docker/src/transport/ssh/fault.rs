//! Why an SSH connection failed, and how to fix it. [`messages`] reads what ssh says.

use std::time::Duration;

use super::messages::{self, Fault, Messages};
use super::{ConnectCause, ConnectError, SshAddress, login_shell};
use diagnostic::{Fix, visible};

/// The most lines of ssh's that are shown where none of them is known.
const LINES_LIMIT: usize = 5;
/// The most of a line that others wrote that is shown, in characters.
const LINE_LIMIT: usize = 200;

impl Fault {
    /// What to do about it, in order.
    fn fixes(self, address: &SshAddress) -> Vec<Fix> {
        let (ssh, known_host) = (address.ssh_arguments(), address.known_hosts_name());
        match self {
            Fault::HostKeyChanged => vec![
                Fix::manual(
                    "Ask the administrator whether the machine was reinstalled; if not, another machine \
                     answers in its place",
                ),
                Fix::run(
                    "After a confirmed reinstallation:",
                    format!("ssh-keygen -R '{known_host}' && ssh {ssh} true"),
                ),
            ],
            Fault::HostKeyUnknown => vec![
                Fix::run(
                    "Compare the fingerprint with the machine's own before you accept it:",
                    format!("ssh {ssh} true"),
                ),
                Fix::run(
                    "Show the machine's own fingerprint, on that machine:",
                    "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
                ),
            ],
            Fault::LoginDenied => vec![
                Fix::run(
                    "Install your public key (password login is not supported):",
                    format!("ssh-copy-id {ssh}"),
                ),
                Fix::run("Add a key with a passphrase to the agent:", "ssh-add"),
            ],
            Fault::KeyReadableByOthers => vec![
                Fix::run("Make the private key readable by its owner alone:", "chmod 600 KEY"),
                Fix::run(
                    "If the login is still denied, install the public key there:",
                    format!("ssh-copy-id {ssh}"),
                ),
            ],
            other => other.general_fixes(),
        }
    }

    /// What to do about the faults that need no address in it.
    fn general_fixes(self) -> Vec<Fix> {
        match self {
            Fault::NameNotResolved => {
                vec![Fix::manual("Use the IP address, or add the name to DNS, /etc/hosts or ~/.ssh/config")]
            }
            Fault::PortRefused => vec![Fix::run(
                "No SSH server listens on that port. Check it on that machine:",
                "systemctl status ssh",
            )],
            Fault::NoBanner => vec![Fix::manual(
                "The port accepts connections but sends no SSH banner: check that an SSH server listens \
                 there",
            )],
            Fault::TimedOut => {
                vec![Fix::manual("Check that the machine is up and that no firewall drops the packets")]
            }
            Fault::NoRoute => {
                vec![Fix::manual("Check that the machine is up and that there is a route to it")]
            }
            Fault::TooManyKeys => vec![Fix::manual(
                "The agent offers too many keys. Set IdentitiesOnly yes and IdentityFile in ~/.ssh/config",
            )],
            Fault::ClosedAtOnce => vec![Fix::manual(
                "The server closed the connection at once. Check its log: MaxStartups, denied address, or no \
                 SSH server",
            )],
            Fault::ConfigurationWritable => vec![Fix::run(
                "Remove write permission for others from the configuration:",
                "chmod 600 ~/.ssh/config",
            )],
            Fault::HostKeyChanged
            | Fault::HostKeyUnknown
            | Fault::LoginDenied
            | Fault::KeyReadableByOthers => Vec::new(),
        }
    }
}

/// What ssh left when it ended before the connection was ready.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended<'a> {
    /// Its exit status: its own 255, or that of the login shell.
    pub status: Option<i32>,
    /// Its own messages (`ssh -E`).
    pub log: &'a str,
    /// Its standard error: the server's banner, the login shell, and the ssh of a jump host.
    pub stderr: &'a str,
    /// What the login shell printed.
    pub stdout: &'a str,
}

/// ssh ended before the connection was ready.
pub(super) fn from_exit(address: &SshAddress, ended: Ended<'_>) -> ConnectError {
    match ended.status {
        Some(255) | None => from_messages(address, ended.log, ended.stderr),
        Some(status) => login_shell::ended(address, status, ended.stdout),
    }
}

/// ssh's own messages name the reason. `stderr` counts only for the ssh of a jump host, and only in lines
/// that ssh writes: anything may be in a banner. Where ssh names none, its last line is shown, as what it is.
pub(super) fn from_messages(address: &SshAddress, log: &str, stderr: &str) -> ConnectError {
    let (own, jump) = (Messages::of(log), Messages::of_jump_host(stderr));
    let first = match own.fault() {
        Some((Fault::ClosedAtOnce, _)) | None => jump.fault().or(own.fault()),
        own => own,
    };
    let Some((fault, named)) = first else { return unknown(address, &own, stderr) };
    let message = match fault {
        Fault::HostKeyChanged => {
            let old =
                own.offending_key().or(jump.offending_key()).unwrap_or("the key in known_hosts differs");
            let new = own.fingerprint().or(jump.fingerprint());
            let new = new.map(|line| format!("; it shows {line}")).unwrap_or_default();
            format!("the host key of {} has changed: {old}{new}", address.known_hosts_name())
        }
        Fault::HostKeyUnknown => {
            own.no_known_key().or(jump.no_known_key()).unwrap_or("Host key verification failed").to_owned()
        }
        // Before there is a connection nobody but a ProxyCommand writes there.
        Fault::ClosedAtOnce => format!("{}{}", messages::without_name(named), last_of(stderr)),
        _ => messages::without_name(named).to_owned(),
    };
    let error = ConnectError::new(format!("ssh: {message}")).caused_by(ConnectCause::Ssh(fault));
    fault.fixes(address).into_iter().fold(error, ConnectError::fix)
}

/// The last lines of ssh, and the last one on its standard error, where no fault is known from them.
fn unknown(address: &SshAddress, own: &Messages<'_>, stderr: &str) -> ConnectError {
    let (ssh, last) = (address.ssh_arguments(), last_of(stderr));
    let message = match own.last(LINES_LIMIT) {
        [] => format!("ssh {ssh} ended with status 255 without a message of its own{last}"),
        lines => format!("ssh: {}{last}", visible::line(&lines.join("; "))),
    };
    ConnectError::new(message).fix(Fix::run("Show what ssh does:", format!("ssh -v {ssh} true; echo $?")))
}

/// The last line on the standard error of ssh, where the server's banner, the login shell and a ProxyCommand
/// write too.
fn last_of(stderr: &str) -> String {
    let Some(line) = messages::last_line(stderr) else { return String::new() };
    let cut: String = line.chars().take(LINE_LIMIT).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("; last line on its standard error: \"{}{more}\"", visible::line(&cut))
}

/// ssh was still at it when the time was up.
pub(super) fn timed_out(address: &SshAddress, log: &str, after: Duration) -> ConnectError {
    let said = messages::last_line(log);
    let said = said.map(|line| format!("; last message of ssh: {}", visible::line(line))).unwrap_or_default();
    ConnectError::new(format!(
        "no SSH connection to {} within {:.1} s{said}",
        address.ssh_arguments(),
        after.as_secs_f32()
    ))
    .caused_by(ConnectCause::SshTimedOut)
    .fix(Fix::run("Show where the connection hangs:", format!("ssh -v {} true", address.ssh_arguments())))
}

/// An output of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Stdout,
    Stderr,
}

/// The other side printed more than `limit` bytes on an output and was not ready.
pub(super) fn flooded(address: &SshAddress, output: Output, limit: u64) -> ConnectError {
    let (on, cut) = match output {
        Output::Stdout => ("", "| head"),
        Output::Stderr => (" on standard error", "2>&1 >/dev/null | head"),
    };
    ConnectError::new(format!(
        "the login shell of {} printed more than {} MiB{on} before it ran the command that envdoc sent",
        address.login(),
        limit >> 20
    ))
    .caused_by(ConnectCause::Flooded)
    .fix(Fix::run("Show it:", format!("ssh {} true {cut}", address.ssh_arguments())))
    .fix(Fix::manual(
        "Check the files that the shell reads on that machine (~/.bashrc, /etc/profile) for endless output",
    ))
}

/// What [`PROBE`] found about a socket, on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SocketState {
    #[error("its socket does not exist")]
    Absent,
    #[error("its socket path is not a socket")]
    NoSocket,
    #[error("no permission to use its socket")]
    Denied,
    /// A program listens there.
    #[error("the SSH server does not forward its socket")]
    Listening,
    #[error("no engine listens at its socket")]
    Silent,
}

/// A script for the other side: prints the user, then a word for each thing that holds. `$s` is the socket.
/// The kernel lists the sockets that somebody listens on by the path that was given then.
pub(super) const PROBE: &str = "id -un; test -e $s || echo absent; test -S $s && echo socket; \
     test -w $s && echo open; r=$(readlink -f $s); \
     grep -qs -e \" $s\\$\" -e \" $r\\$\" -e \" /var$r\\$\" /proc/net/unix && echo listens";

impl SocketState {
    /// The user and the state, from the output of [`PROBE`].
    fn parse(output: &str) -> (&str, SocketState) {
        let mut lines = output.lines().map(str::trim);
        let user = lines.next().unwrap_or_default();
        let words: Vec<&str> = lines.collect();
        let state = match ["absent", "socket", "open", "listens"].map(|word| words.contains(&word)) {
            [true, ..] => SocketState::Absent,
            [_, false, ..] => SocketState::NoSocket,
            [_, _, false, _] => SocketState::Denied,
            // OpenSSH says the same of a socket that it may not forward and of one that nobody listens on.
            [_, _, _, true] => SocketState::Listening,
            [_, _, _, false] => SocketState::Silent,
        };
        (user, state)
    }
}

/// The connection is there, the engine's socket is not. `probed`: the output of [`PROBE`].
pub(super) fn from_socket(address: &SshAddress, why: &str, probed: Option<&str>) -> ConnectError {
    let SshAddress { host, socket, .. } = address;
    let Some((user, state)) = probed.map(SocketState::parse) else {
        return ConnectError::new(format!("SSH connected, but {socket} on {host} cannot be used: {why}"));
    };
    let error = match state {
        SocketState::Absent => ConnectError::new(format!(
            "{socket} does not exist on {host}, or {user} has no access to its directory: {why}"
        ))
        .fix(Fix::run(
            format!(
                "Start the engine on {host}, or give its socket (ssh://{host}/run/user/1000/docker.sock):"
            ),
            "systemctl start docker",
        )),
        SocketState::NoSocket => ConnectError::new(format!("{socket} on {host} is not a socket: {why}")),
        SocketState::Denied => {
            let message = format!("{user} has no permission to use {socket} on {host}: {why}");
            ConnectError::new(message).fix(Fix::run(
                format!("Add the user to the docker group on {host}, then log in again:"),
                format!("usermod -aG docker {user}"),
            ))
        }
        SocketState::Listening => ConnectError::new(format!(
            "an engine listens at {socket} on {host}, but the SSH server does not forward it: {why}"
        ))
        .fix(Fix::manual(format!(
            "On {host}, set AllowStreamLocalForwarding yes in sshd_config and remove `restrict` before the \
             key in authorized_keys"
        ))),
        SocketState::Silent => ConnectError::new(format!("no engine listens at {socket} on {host}: {why}"))
            .fix(Fix::run(format!("Check the engine on {host}:"), "systemctl status docker")),
    };
    error.caused_by(ConnectCause::Socket(state))
}

#[cfg(test)]
mod tests;
