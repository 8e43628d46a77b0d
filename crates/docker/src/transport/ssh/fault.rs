//! Why an SSH connection failed, from the messages of ssh, and how to fix it. The only file that reads these
//! messages.

use std::time::Duration;

use super::{ConnectError, SshAddress, login_shell};

/// The most lines of ssh's that are shown where none of them is known.
const LINES_LIMIT: usize = 5;

/// Why ssh ended before the connection was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    HostKeyChanged,
    HostKeyUnknown,
    LoginDenied,
    NameNotResolved,
    PortRefused,
    NoBanner,
    TimedOut,
    NoRoute,
    TooManyKeys,
    ClosedAtOnce,
    ConfigurationWritable,
}

/// Faults in the order in which they are looked for, each with the words of ssh that name it.
const FAULTS: &[(&str, Fault)] = &[
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", Fault::HostKeyChanged),
    ("Host key verification failed", Fault::HostKeyUnknown),
    ("Permission denied (", Fault::LoginDenied),
    ("Could not resolve hostname", Fault::NameNotResolved),
    ("Connection refused", Fault::PortRefused),
    ("timed out during banner exchange", Fault::NoBanner),
    ("timed out", Fault::TimedOut),
    ("No route to host", Fault::NoRoute),
    ("Too many authentication failures", Fault::TooManyKeys),
    ("kex_exchange_identification", Fault::ClosedAtOnce),
    ("Bad owner or permissions", Fault::ConfigurationWritable),
];

/// How the lines begin that the ssh of a jump host writes about its own connection.
const JUMP_MESSAGES: [&str; 3] = ["ssh: ", "Host key verification failed", "kex_exchange_identification"];

impl Fault {
    /// What to do about it, in order.
    fn hints(self, address: &SshAddress) -> Vec<String> {
        let (ssh, known_host) = (address.ssh_arguments(), address.known_hosts_name());
        match self {
            Fault::HostKeyChanged => vec![
                "Ask the administrator whether the machine was reinstalled; if not, another machine answers \
                 in its place"
                    .into(),
                format!("After a confirmed reinstallation: ssh-keygen -R '{known_host}' && ssh {ssh} true"),
            ],
            Fault::HostKeyUnknown => vec![
                format!(
                    "Compare the fingerprint with the machine's own before you accept it: ssh {ssh} true"
                ),
                "Show the machine's own fingerprint, on that machine: ssh-keygen -lf \
                 /etc/ssh/ssh_host_ed25519_key.pub"
                    .into(),
            ],
            Fault::LoginDenied => vec![
                format!("Install your public key (password login is not supported): ssh-copy-id {ssh}"),
                "Add a key with a passphrase to the agent: ssh-add".into(),
            ],
            other => vec![other.hint().into()],
        }
    }

    /// The one hint of the faults that need no address in it.
    fn hint(self) -> &'static str {
        match self {
            Fault::NameNotResolved => {
                "Use the IP address, or add the name to DNS, /etc/hosts or ~/.ssh/config"
            }
            Fault::PortRefused => {
                "No SSH server listens on that port. Check it on that machine: systemctl status ssh"
            }
            Fault::NoBanner => {
                "The port accepts connections but sends no SSH banner: check that an SSH server listens on it"
            }
            Fault::TimedOut => "Check that the machine is up and that no firewall drops the packets",
            Fault::NoRoute => "Check that the machine is up and that there is a route to it",
            Fault::TooManyKeys => {
                "The agent offers too many keys. Set IdentitiesOnly yes and IdentityFile in ~/.ssh/config"
            }
            Fault::ClosedAtOnce => {
                "The server closed the connection at once. Check its log: MaxStartups, denied address, or \
                 no SSH server"
            }
            Fault::ConfigurationWritable => {
                "Remove write permission for others from the configuration: chmod 600 ~/.ssh/config"
            }
            Fault::HostKeyChanged | Fault::HostKeyUnknown | Fault::LoginDenied => "",
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
/// that ssh writes: anything may be in a banner.
pub(super) fn from_messages(address: &SshAddress, log: &str, stderr: &str) -> ConnectError {
    let lines: Vec<&str> =
        log.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("@@@")).collect();
    let of_jump = |line: &&str| JUMP_MESSAGES.iter().any(|words| line.starts_with(words));
    let jump: Vec<&str> = stderr.lines().map(str::trim).filter(of_jump).collect();
    let find = |lines: &[&'_ str]| {
        let named = |words: &str| lines.iter().position(|line| line.contains(words));
        FAULTS.iter().find_map(|(words, fault)| Some((*fault, named(words)?)))
    };
    let own = find(&lines).map(|(fault, index)| (fault, lines[index]));
    let far = find(&jump).map(|(fault, index)| (fault, jump[index]));
    let first = match own {
        Some((Fault::ClosedAtOnce, _)) | None => far.or(own),
        own => own,
    };
    let line = |words: &str| lines.iter().chain(&jump).copied().find(|line| line.contains(words));
    let Some((fault, named)) = first else { return unknown(address, &lines) };
    let message = match fault {
        Fault::HostKeyChanged => {
            let old = line("Offending").unwrap_or("the key in known_hosts differs");
            let new = line("SHA256:")
                .map(|line| format!("; it shows {}", line.trim_end_matches('.')))
                .unwrap_or_default();
            format!("the host key of {} has changed: {old}{new}", address.known_hosts_name())
        }
        Fault::HostKeyUnknown => {
            line("host key is known for").unwrap_or("Host key verification failed").to_owned()
        }
        _ => named.trim_start_matches("ssh: ").to_owned(),
    };
    let error = ConnectError::new(format!("ssh: {message}"));
    fault.hints(address).into_iter().fold(error, ConnectError::hint)
}

/// The last lines of ssh, where no fault is known from them.
fn unknown(address: &SshAddress, lines: &[&str]) -> ConnectError {
    match lines.len() {
        0 => ConnectError::new(format!(
            "ssh {} ended with status 255 without a message",
            address.ssh_arguments()
        ))
        .hint(format!("Show what ssh does: ssh -v {} true; echo $?", address.ssh_arguments())),
        count => ConnectError::new(format!("ssh: {}", lines[count.saturating_sub(LINES_LIMIT)..].join("; "))),
    }
}

/// What ssh said last about a socket that it could not forward.
pub(super) fn forwarding_failure(log: &str) -> Option<&str> {
    log.lines().rfind(|line| line.contains("open failed")).map(str::trim)
}

/// ssh was still at it when the time was up.
pub(super) fn timed_out(address: &SshAddress, log: &str, after: Duration) -> ConnectError {
    let said = log.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = said.map(|line| format!("; last message of ssh: {line}")).unwrap_or_default();
    ConnectError::new(format!(
        "no SSH connection to {} within {:.1} s{said}",
        address.ssh_arguments(),
        after.as_secs_f32()
    ))
    .hint(format!("Show where the connection hangs: ssh -v {} true", address.ssh_arguments()))
}

/// What [`PROBE`] found about a socket, on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SocketState {
    Absent,
    NoSocket,
    Denied,
    /// A program listens there.
    Listening,
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
    match state {
        SocketState::Absent => ConnectError::new(format!(
            "{socket} does not exist on {host}, or {user} has no access to its directory: {why}"
        ))
        .hint(format!(
            "Start the engine on {host} (systemctl start docker), or give its socket: \
             ssh://{host}/run/user/1000/docker.sock"
        )),
        SocketState::NoSocket => ConnectError::new(format!("{socket} on {host} is not a socket: {why}")),
        SocketState::Denied => {
            let message = format!("{user} has no permission to use {socket} on {host}: {why}");
            ConnectError::new(message).hint(format!(
                "Add the user to the docker group on {host}, then log in again: usermod -aG docker {user}"
            ))
        }
        SocketState::Listening => ConnectError::new(format!(
            "an engine listens at {socket} on {host}, but the SSH server does not forward it: {why}"
        ))
        .hint(format!(
            "On {host}, set AllowStreamLocalForwarding yes in sshd_config and remove `restrict` before the \
             key in authorized_keys"
        )),
        SocketState::Silent => ConnectError::new(format!("no engine listens at {socket} on {host}: {why}"))
            .hint(format!("Check the engine on {host}: systemctl status docker")),
    }
}

#[cfg(test)]
mod tests;
