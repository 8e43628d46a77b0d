//! The way to an engine that is not behind a socket of this machine: over SSH, or over TCP with TLS.
//!
//! A [`Road`] turns any endpoint into a local one, `unix://` or plain `tcp://`, which everything else speaks to. It is the
//! only place that knows of SSH and TLS. Dropping it ends the connection and removes its folder.

mod address;
pub mod ssh;
mod tls;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use address::SshAddress;

use diagnostic::error::{Error, Kind};
use facts::docker::endpoint;
use facts::environment;
use facts::{Fact, IntoFact};
use host::live::{Engines, Live};
use host::{Host, Reading, process};

/// The longest that opening a road may take where the caller has no deadline of its own.
pub const OPENING: Duration = Duration::from_secs(20);
/// The longest that reading Docker's configuration may take.
const READING: Duration = Duration::from_secs(5);

/// An open way to an engine.
#[derive(Debug)]
pub struct Road {
    /// The endpoint as it was asked for: `ssh://root@gpu1`.
    pub endpoint: String,
    local: String,
    held: Held,
}

/// What ends with the road.
#[derive(Debug)]
enum Held {
    /// Nothing: the endpoint is itself.
    Nothing,
    Ssh(ssh::Connection),
    Tls(#[expect(dead_code, reason = "held to be dropped with the road")] tls::Tunnel),
}

/// Why there is no road, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// What happened, in the words of who said it.
    pub says: String,
    /// What to do, each a sentence or a command.
    pub hints: Vec<String>,
}

impl Blocked {
    fn new(says: impl Into<String>) -> Self {
        Blocked { says: says.into(), hints: Vec::new() }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same as the program's error.
    pub fn error(self, endpoint: &str) -> Error {
        let error =
            Error::new(Kind::Engine, format!("the engine at {endpoint} cannot be used: {}", self.says));
        self.hints.into_iter().fold(error, Error::hint)
    }
}

impl Road {
    /// Opens the way to `endpoint`. `certificates` is the folder of ca.pem, cert.pem and key.pem; without it the one that the docker
    /// program would use. An engine over SSH or TLS has answered when this returns; others are not asked yet.
    pub async fn open(
        endpoint: &str,
        certificates: Option<&str>,
        deadline: Instant,
    ) -> Result<Road, Blocked> {
        let road = Road::connect(endpoint, certificates, deadline).await?;
        if let Held::Ssh(connection) = &road.held {
            connection.engine_answers(deadline).await?;
        }
        Ok(road)
    }

    /// Like [`Road::open`], but whether an engine answers at the end of an SSH connection is not asked.
    pub async fn connect(
        endpoint: &str,
        certificates: Option<&str>,
        deadline: Instant,
    ) -> Result<Road, Blocked> {
        let (local, held) = match endpoint.split_once("://") {
            Some(("unix" | "http", _)) => (endpoint.to_owned(), Held::Nothing),
            Some((scheme @ ("tcp" | "https"), address)) => {
                let folder = match certificates {
                    Some(folder) => Some(folder.to_owned()),
                    None => folder(endpoint, scheme == "https")?,
                };
                match folder {
                    None => (endpoint.to_owned(), Held::Nothing),
                    Some(folder) => {
                        let tunnel = tls::open(address, &folder, deadline).await?;
                        (tunnel.local(), Held::Tls(tunnel))
                    }
                }
            }
            Some(("ssh", _)) => {
                let address = SshAddress::parse(endpoint).map_err(Blocked::new)?;
                let connection = ssh::open(address, deadline).await?;
                (connection.local(), Held::Ssh(connection))
            }
            _ => {
                return Err(Blocked::new("envdoc reaches engines by unix://, tcp:// and ssh:// only"));
            }
        };
        Ok(Road { endpoint: endpoint.to_owned(), local, held })
    }

    /// Like [`Road::connect`] for an endpoint over SSH, with a command of the caller's in the connection's own session.
    pub async fn connect_talking(
        endpoint: &str,
        remote: impl FnOnce(&SshAddress) -> String,
        deadline: Instant,
    ) -> Result<(Road, ssh::Talk), Blocked> {
        let address = SshAddress::parse(endpoint).map_err(Blocked::new)?;
        let remote = remote(&address);
        let (connection, talk) = ssh::open_talking(address, &remote, deadline).await?;
        let local = connection.local();
        Ok((Road { endpoint: endpoint.to_owned(), local, held: Held::Ssh(connection) }, talk))
    }

    /// The endpoint to speak to: `unix://…` or `tcp://…` without TLS.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The SSH connection, where it is one: commands can be run over it.
    pub fn ssh(&self) -> Option<&ssh::Connection> {
        match &self.held {
            Held::Ssh(connection) => Some(connection),
            _ => None,
        }
    }
}

/// The folder with the certificates that the docker program would use here.
fn folder(endpoint: &str, wanted: bool) -> Result<Option<String>, Blocked> {
    let machine = Live::new(Instant::now() + READING);
    let variables = machine.environment().text().map(|text| environment::parse(&text));
    match endpoint::certificates(&machine, &variables, endpoint, wanted) {
        Fact::Known(folder) => Ok(Some(folder)),
        Fact::Absent => Ok(None),
        Fact::Unknown(why) => {
            Err(Blocked::new(format!("it is unclear whether this engine wants TLS: {why}")))
        }
    }
}

/// Roads that were opened for questions, each once.
#[derive(Debug, Default)]
pub struct Roads(Mutex<BTreeMap<String, Result<Arc<Road>, Blocked>>>);

impl Engines for Roads {
    /// Asks the engine at `endpoint` for `path`, over a road where it needs one.
    fn get(&self, endpoint: &str, path: &str, deadline: Instant) -> Reading {
        if !needs_road(endpoint) {
            return super::get(endpoint, path, deadline);
        }
        let road = {
            let mut roads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match roads.get(endpoint) {
                Some(road) => road.clone(),
                None => {
                    let road = now(endpoint, deadline).map(Arc::new);
                    roads.insert(endpoint.to_owned(), road.clone());
                    road
                }
            }
        };
        match road {
            Ok(road) => super::get(road.local(), path, deadline),
            Err(blocked) => Reading::failed(blocked.says),
        }
    }
}

fn needs_road(endpoint: &str) -> bool {
    ["ssh://", "tcp://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme))
}

/// Opens a road from code that is not asynchronous. What runs behind a road needs no runtime of the caller's.
pub fn now(endpoint: &str, deadline: Instant) -> Result<Road, Blocked> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Blocked::new(format!("no runtime: {error}")))?;
    runtime.block_on(Road::open(endpoint, None, deadline))
}

/// A folder that nobody else may look into, removed with this, or when envdoc ends.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// Its path is short and plain: sockets have at most 107 bytes, and ssh gives `%` and `$` a meaning.
    fn new() -> Result<Folder, Blocked> {
        let plain = |path: &PathBuf| {
            path.to_str().is_some_and(|path| {
                path.len() < 50 && path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b))
            })
        };
        let parent = Some(std::env::temp_dir()).filter(plain).unwrap_or_else(|| "/tmp".into());
        let folder = tempfile::Builder::new()
            .prefix("envdoc-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(&parent);
        let folder = folder.map_err(|error| {
            Blocked::new(format!("no folder for its socket can be made in {}: {error}", parent.display()))
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
