//! An OpenSSH master connection: one handshake, over which the engine's socket is forwarded and commands are
//! run.
//!
//! The user's own ssh and its configuration decide how a machine is reached (keys, agents, jumps). envdoc
//! adds what a program needs: no questions, a deadline, and host keys that are known already.

mod capture;
mod fault;
mod login_shell;
pub mod messages;
mod run;
mod shell;

use futures_util::future::BoxFuture;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use capture::{Capture, FLOOD_LIMIT_BYTES};
use fault::Output;
pub use fault::SocketState;
pub use run::Ran;
pub use shell::{Shell, open_shell};

use super::{ConnectCause, ConnectError, Folder, SshAddress};
use diagnostic::Fix;
use diagnostic::shell::quoted;
use facts::docker::Endpoint;
use host::{Reading, process};

/// Names a configuration for ssh in place of ~/.ssh/config, as `ssh -F` does.
pub const CONFIG_VARIABLE: &str = "ENVDOC_SSH_CONFIG";
/// What the other side prints when the connection is ready. The command lasts until our side closes its
/// input, so the connection ends with envdoc, however that ends.
const READY_MARK: &str = "envdoc-connection-ready";
/// The file for the messages of ssh itself. On its standard error are also the server's banner and what the
/// login shell prints there.
const LOG: &str = "log";
/// The most that is read of it, in bytes.
const LOG_LIMIT_BYTES: u64 = 64 << 10;
/// How often an opening connection is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a local connection may stay open after ssh has said that the other side does not forward it.
const REFUSAL_GRACE: Duration = Duration::from_secs(1);
/// The longest that asking for the state of a socket may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The most that is kept of each output of a command, in bytes.
const OUTPUT_LIMIT_BYTES: u64 = 64 << 20;

/// A master connection to one machine.
#[derive(Debug)]
pub struct Connection {
    /// Where it goes.
    pub address: SshAddress,
    folder: Folder,
    configuration: Option<String>,
    child: Mutex<Child>,
    /// How long it took until a command ran there.
    pub took: Duration,
}

/// Why a connection that ended was never ready: from ssh's own messages, its standard error, and what the
/// login shell printed.
pub(crate) fn why_ended(
    address: &SshAddress,
    status: Option<i32>,
    [log, stderr, stdout]: [&str; 3],
) -> ConnectError {
    fault::from_exit(address, fault::Ended { status, log, stderr, stdout })
}

/// Connects, authenticates, and waits until a command has run on the other side.
pub fn open(address: SshAddress, deadline: Instant) -> BoxFuture<'static, Result<Connection, ConnectError>> {
    Box::pin(async move {
        let started = Instant::now();
        let folder = Folder::new()?;
        let configuration = configuration();
        let (mut child, stderr) = start(&address, &folder, configuration.as_deref(), "exec cat", deadline)?;
        let stdout = child.stdout.take().map(Capture::of).unwrap_or_default();
        let ended = loop {
            if stdout.ready() {
                break None;
            }
            if let Ok(Some(status)) = child.try_wait() {
                break Some(Ended::Exited(status.code()));
            }
            let flooded = [(&stdout, Output::Stdout), (&stderr, Output::Stderr)];
            if let Some((_, output)) = flooded.into_iter().find(|(capture, _)| capture.flooded()) {
                break Some(Ended::Flooded(output));
            }
            if Instant::now() >= deadline {
                break Some(Ended::TimedOut);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        if let Some(ended) = ended {
            process::stop(&mut child);
            return Err(match ended {
                Ended::Exited(status) => {
                    ended_early(&address, &folder, status, &stderr, &stdout.rest().await).await
                }
                Ended::Flooded(output) => fault::flooded(&address, output, FLOOD_LIMIT_BYTES),
                Ended::TimedOut => fault::timed_out(&address, &log(&folder), started.elapsed()),
            });
        }
        Ok(Connection { address, folder, configuration, child: Mutex::new(child), took: started.elapsed() })
    })
}

/// Why an opening connection is given up.
enum Ended {
    /// ssh ended, with this status.
    Exited(Option<i32>),
    /// The other side prints without end.
    Flooded(Output),
    TimedOut,
}

/// Why ssh ended before the connection was ready.
async fn ended_early(
    address: &SshAddress,
    folder: &Folder,
    status: Option<i32>,
    stderr: &Capture,
    stdout: &str,
) -> ConnectError {
    let (log, stderr) = (log(folder), stderr.rest().await);
    fault::from_exit(address, fault::Ended { status, log: &log, stderr: &stderr, stdout })
}

/// Starts the master, with what it prints on standard error. When it is connected, the other side's shell
/// prints [`READY_MARK`] and goes on with `remote`.
fn start(
    address: &SshAddress,
    folder: &Folder,
    configuration: Option<&str>,
    remote: &str,
    deadline: Instant,
) -> Result<(Child, Capture), ConnectError> {
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => ConnectError::new("ssh is not installed")
            .fix(Fix::run("Install the OpenSSH client:", "apt-get install openssh-client")),
        _ => ConnectError::new(format!("cannot start ssh: {error}")),
    };
    let mut command = host::program::command("ssh").map_err(missing)?;
    command.args(options(folder, configuration, deadline));
    command.args(["-E", &folder.path(LOG)]);
    command.args(["-M", "-L", &format!("{}:{}", folder.path("engine.sock"), address.socket)]);
    command.args(destination(address)).arg(format!("echo {READY_MARK}; {remote}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process::start(&mut command, deadline).map_err(missing)?;
    let stderr = child.stderr.take().map(Capture::of).unwrap_or_default();
    Ok((child, stderr))
}

fn configuration() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "how ssh is to be called, which no snapshot needs")]
    std::env::var(CONFIG_VARIABLE).ok().filter(|path| !path.is_empty())
}

/// What every call of ssh gets. Options on the command line win over the configuration of the user.
fn options(folder: &Folder, configuration: Option<&str>, deadline: Instant) -> Vec<String> {
    // One second less than ours, so that ssh's own words come first.
    let seconds = deadline.saturating_duration_since(Instant::now()).as_secs().saturating_sub(1).max(1);
    let mut options: Vec<String> =
        configuration.map(|file| vec!["-F".into(), file.into()]).unwrap_or_default();
    options.extend(["-S".into(), folder.path("control"), "-T".into()]);
    let set = [
        "BatchMode=yes",
        // A key that nobody has seen before is never taken unseen.
        "StrictHostKeyChecking=yes",
        &format!("ConnectTimeout={seconds}"),
        "ServerAliveInterval=15",
        "ServerAliveCountMax=3",
        // The words that tell why a socket cannot be forwarded are said at this level.
        "LogLevel=INFO",
        "ControlPersist=no",
        "ExitOnForwardFailure=no",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "RequestTTY=no",
    ];
    options.extend(set.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
    options
}

fn destination(address: &SshAddress) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(user) = &address.user {
        words.extend(["-l".to_owned(), user.clone()]);
    }
    if let Some(port) = address.port {
        words.extend(["-p".to_owned(), port.to_string()]);
    }
    words.extend(["--".to_owned(), address.host.clone()]);
    words
}

/// The end of what ssh has written into its log so far.
fn log(folder: &Folder) -> String {
    log_end(folder, LOG_LIMIT_BYTES)
}

fn log_end(folder: &Folder, limit_bytes: u64) -> String {
    let bytes = host::file::end(Path::new(&folder.path(LOG)), limit_bytes).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Connection {
    /// The endpoint to speak to.
    pub fn local(&self) -> Endpoint {
        Endpoint::unix(self.folder.path("engine.sock"))
    }

    /// A command line for the other side's shell, over the same connection, ready to be started. Quote what
    /// is not yours: [`diagnostic::shell::quoted`].
    #[expect(clippy::disallowed_methods, reason = "ssh is how the machine is reached")]
    pub fn command(&self, remote: &str) -> tokio::process::Command {
        // The connection was made with it; without it, starting fails.
        let file = host::program::find("ssh").unwrap_or_else(|| "/usr/bin/ssh".into());
        let mut command = tokio::process::Command::new(file);
        command
            .env("PATH", host::program::path())
            .args(options(&self.folder, self.configuration.as_deref(), Instant::now() + PROBE_TIMEOUT))
            .args(["-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes"])
            .args(destination(&self.address))
            .arg(remote)
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Whether an engine answers at the other end; else why not, as far as it can be seen there.
    pub fn check_engine<'a>(&'a self, deadline: Instant) -> BoxFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move {
            let local = self.local();
            // What ssh has said of earlier attempts says nothing of this one.
            let before = self.log_length();
            let ping = tokio::time::timeout_at(deadline.into(), crate::ask(&local, "/_ping"));
            let answer = tokio::select! {
                answer = ping => answer.ok(),
                () = self.forwarding_refused(before) => None,
            };
            let log = self.log_from(before);
            let why = match (&answer, messages::forwarding_failure(&log)) {
                (Some(Reading::Text(_)), _) => return Ok(()),
                (_, Some(line)) => line,
                (Some(Reading::Failed(why)), None) => &why.detail,
                (Some(_), None) => "ssh did not create the local socket",
                (None, None) => {
                    return Err(ConnectError::new(format!(
                        "SSH connected, but the engine at {} on {} did not answer",
                        self.address.socket, self.address.host
                    ))
                    .caused_by(ConnectCause::NoAnswer));
                }
            };
            let socket = quoted(&self.address.socket);
            let script = format!("s={socket}; {}", fault::PROBE);
            let probed =
                self.run(&format!("sh -c {}", quoted(&script)), b"", Instant::now() + PROBE_TIMEOUT).await;
            Err(fault::from_socket(&self.address, why, probed.ok().map(|ran| ran.text()).as_deref()))
        })
    }

    /// Ends after ssh has said that the other side does not forward the socket. It closes the local
    /// connection then, but not always.
    async fn forwarding_refused(&self, before: u64) {
        while messages::forwarding_failure(&self.log_from(before)).is_none() {
            tokio::time::sleep(10 * POLL_INTERVAL).await;
        }
        tokio::time::sleep(REFUSAL_GRACE).await;
    }

    fn log_length(&self) -> u64 {
        host::file::size(Path::new(&self.folder.path(LOG))).unwrap_or(0)
    }

    /// The end of what ssh wrote since its log was `before` bytes long.
    fn log_from(&self, before: u64) -> String {
        log_end(&self.folder, self.log_length().saturating_sub(before).min(LOG_LIMIT_BYTES))
    }

    /// Whether the connection is still up.
    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(None))
    }

    /// What ssh itself has said so far.
    pub fn log(&self) -> String {
        log(&self.folder)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        process::stop(self.child.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}
