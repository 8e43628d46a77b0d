//! The way to an engine that is not behind a socket of this machine: over SSH, or over TCP with TLS.
//!
//! A [`Transport`] turns any endpoint into a local one, `unix://` or plain `tcp://`, which everything else
//! speaks to. It is the only place that knows of SSH and TLS. Dropping it ends the connection and removes its
//! folder.

pub mod ssh;
mod tls;

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

pub use facts::docker::{Endpoint, SshAddress};

use diagnostic::Fix;
use diagnostic::error::{Error, Kind};
use facts::docker::{Target, TcpAddress, Tls, endpoint};
use facts::environment;
use facts::{Fact, IntoFact};
use host::live::{Engines, Live};
use host::{Host, Reading, process};

/// The longest that opening a transport may take where the caller has no deadline of its own.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest that reading Docker's configuration may take.
const CONFIG_TIMEOUT: Duration = Duration::from_secs(5);

/// An open way to an engine.
#[derive(Debug)]
pub struct Transport {
    /// The endpoint as it was asked for: `ssh://root@gpu1`.
    pub endpoint: Endpoint,
    local: Endpoint,
    channel: Channel,
}

/// What ends with the transport.
#[derive(Debug)]
enum Channel {
    /// Nothing: the endpoint is itself.
    Direct,
    Ssh(ssh::Connection),
    Tls(#[expect(dead_code, reason = "held to be dropped with the transport")] tls::Tunnel),
}

/// Why there is no transport, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    /// What happened, in the words of who said it.
    pub message: String,
    /// What to do, the best first.
    pub fixes: Vec<Fix>,
    /// The kind of the reason, where it is a known one.
    pub cause: Option<ConnectCause>,
}

/// Why there is no transport, without what differs from one machine to the next: a report names machines
/// with the same cause together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectCause {
    #[error("ssh: {0}")]
    Ssh(ssh::messages::Fault),
    #[error("no SSH connection in time")]
    SshTimedOut,
    #[error("the login shell ends before it runs a command")]
    LoginShell,
    #[error("the login shell prints without end")]
    Flooded,
    #[error("SSH connects, but the Docker engine cannot be used: {0}")]
    Socket(ssh::SocketState),
    #[error("the Docker engine does not answer")]
    NoAnswer,
    #[error("no Docker engine listens there")]
    Refused,
    #[error("no permission to use the Docker engine")]
    Denied,
}

impl ConnectError {
    pub(crate) fn new(message: impl ToString) -> Self {
        ConnectError { message: message.to_string(), fixes: Vec::new(), cause: None }
    }

    pub(crate) fn caused_by(mut self, cause: ConnectCause) -> Self {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// The same as the program's error.
    pub fn error(self, endpoint: &Endpoint) -> Error {
        let error =
            Error::new(Kind::Engine, format!("the engine at {endpoint} cannot be used: {}", self.message));
        self.fixes.iter().map(Fix::to_string).fold(error, Error::hint)
    }
}

impl Transport {
    /// Opens the way to `endpoint`. `certificates` is the folder of ca.pem, cert.pem and key.pem; without it
    /// the one that the docker program would use. An engine over SSH or TLS has answered when this returns;
    /// others are not asked yet.
    pub fn open<'a>(
        endpoint: &'a Endpoint,
        certificates: Option<&'a str>,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Transport, ConnectError>> {
        Box::pin(async move {
            let transport = Transport::connect(endpoint, certificates, deadline).await?;
            if let Channel::Ssh(connection) = &transport.channel {
                connection.check_engine(deadline).await?;
            }
            Ok(transport)
        })
    }

    /// Like [`Transport::open`], but whether an engine answers at the end of an SSH connection is not asked.
    pub fn connect<'a>(
        endpoint: &'a Endpoint,
        certificates: Option<&'a str>,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Transport, ConnectError>> {
        Box::pin(async move {
            let direct = || (endpoint.clone(), Channel::Direct);
            let (local, channel) = match endpoint.target().map_err(ConnectError::new)? {
                Target::Unix(_) | Target::Tcp(TcpAddress { tls: Tls::Never, .. }) => direct(),
                Target::Tcp(address) => {
                    let folder = match certificates {
                        Some(folder) => Some(folder.to_owned()),
                        None => certificate_folder(endpoint, address.tls == Tls::Always)?,
                    };
                    match folder {
                        None => direct(),
                        Some(folder) => {
                            let tunnel = tls::open(address, &folder, deadline).await?;
                            (tunnel.local(), Channel::Tls(tunnel))
                        }
                    }
                }
                Target::Ssh(address) => {
                    let connection = ssh::open(address.clone(), deadline).await?;
                    (connection.local(), Channel::Ssh(connection))
                }
            };
            Ok(Transport { endpoint: endpoint.clone(), local, channel })
        })
    }

    /// Like [`Transport::connect`] for an endpoint over SSH, with a command of the caller's in the
    /// connection's own session.
    pub async fn connect_shell(
        endpoint: &Endpoint,
        remote: impl FnOnce(&SshAddress) -> String,
        deadline: Instant,
    ) -> Result<(Transport, ssh::Shell), ConnectError> {
        let address = match endpoint.target().map_err(ConnectError::new)? {
            Target::Ssh(address) => address,
            _ => return Err(ConnectError::new(format!("{endpoint} is not an ssh:// endpoint"))),
        };
        let remote = remote(address);
        let (connection, shell) = ssh::open_shell(address.clone(), &remote, deadline).await?;
        let local = connection.local();
        Ok((Transport { endpoint: endpoint.clone(), local, channel: Channel::Ssh(connection) }, shell))
    }

    /// The endpoint to speak to: `unix://…` or `tcp://…` without TLS.
    pub fn local(&self) -> &Endpoint {
        &self.local
    }

    /// The SSH connection, where it is one: commands can be run over it.
    pub fn ssh(&self) -> Option<&ssh::Connection> {
        match &self.channel {
            Channel::Ssh(connection) => Some(connection),
            _ => None,
        }
    }
}

/// The folder with the certificates that the docker program would use here.
fn certificate_folder(endpoint: &Endpoint, wanted: bool) -> Result<Option<String>, ConnectError> {
    let machine = Live::new(Instant::now() + CONFIG_TIMEOUT);
    let variables = machine.environment().text().map(|text| environment::parse(&text));
    match endpoint::certificates(&machine, &variables, endpoint, wanted) {
        Fact::Known(folder) => Ok(Some(folder)),
        Fact::Absent => Ok(None),
        Fact::Unknown(why) => {
            Err(ConnectError::new(format!("cannot determine whether the engine requires TLS: {why}")))
        }
    }
}

/// Transports that were opened for questions, each once.
#[derive(Debug, Default)]
pub struct Transports(Mutex<BTreeMap<Endpoint, Result<Arc<Transport>, ConnectError>>>);

impl Engines for Transports {
    /// Asks the engine at `endpoint` for `path`, over a transport where it needs one.
    fn get(&self, endpoint: &str, path: &str, deadline: Instant) -> Reading {
        let endpoint = Endpoint::from(endpoint);
        match endpoint.target() {
            Ok(Target::Unix(_) | Target::Tcp(TcpAddress { tls: Tls::Never, .. })) => {
                return super::get(&endpoint, path, deadline);
            }
            Ok(Target::Tcp(_) | Target::Ssh(_)) => {}
            Err(fault) => return Reading::failed(fault.to_string()),
        }
        let transport = {
            let mut transports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match transports.get(&endpoint) {
                Some(transport) => transport.clone(),
                None => {
                    let transport = open_blocking(&endpoint, deadline).map(Arc::new);
                    transports.insert(endpoint, transport.clone());
                    transport
                }
            }
        };
        match transport {
            Ok(transport) => super::get(transport.local(), path, deadline),
            Err(blocked) => Reading::failed(blocked.message),
        }
    }
}

/// Opens a transport from code that is not asynchronous. What runs behind a transport needs no runtime of the
/// caller's.
pub fn open_blocking(endpoint: &Endpoint, deadline: Instant) -> Result<Transport, ConnectError> {
    crate::block_on(Transport::open(endpoint, None, deadline)).map_err(ConnectError::new)?
}

/// How the names of the folders begin.
const PREFIX: &str = "envdoc-";

/// A directory with mode 0700, removed when dropped or when envdoc ends. What an envdoc that was killed left
/// is removed by the next one.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// Its path is short and plain: sockets have at most 107 bytes, and ssh gives `%` and `$` a meaning.
    #[expect(clippy::disallowed_methods, reason = "a folder of envdoc's own")]
    fn new() -> Result<Folder, ConnectError> {
        let plain = |path: &PathBuf| {
            path.to_str().is_some_and(|path| {
                path.len() < 50 && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b))
            })
        };
        let parent = Some(std::env::temp_dir()).filter(plain).unwrap_or_else(|| "/tmp".into());
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| process::remove_stale(&parent, PREFIX));
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(&parent);
        let folder = folder.map_err(|error| {
            ConnectError::new(format!(
                "cannot create a directory for the socket in {}: {error}",
                parent.display()
            ))
        })?;
        // The end of envdoc by Ctrl-C drops nothing: the list that programs are ended from removes it then.
        let path = folder.keep();
        process::remove_at_end(&path);
        Ok(Folder(path))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        process::remove_now(&self.0);
    }
}
