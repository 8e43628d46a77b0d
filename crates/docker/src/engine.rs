//! The connection to an engine: Docker's, or Podman's socket, which speaks the same API in part.

use futures_util::future::BoxFuture;
use std::time::{Duration, Instant};

use bollard::Docker;

use super::transport::{self, ConnectCause, ConnectError, Transport};
use crate::bollard_request::fix_request;
use crate::bounded;
use crate::error::{ANSWER_TIMEOUT, Cause, Error as EngineError, Waited};
use diagnostic::Fix;
use diagnostic::error::Error;
use facts::docker::{Endpoint, Target, TcpAddress, Tls};

/// The longest that connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that `/_ping` may take, for which dockerd asks no other program.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// The first API with BuildKit behind `/build`; Docker 18.09.
const BUILDKIT_SINCE: (u32, u32) = (1, 39);

/// An engine that answered.
pub struct Engine {
    pub(super) docker: Docker,
    /// As it was asked for: `unix:///var/run/docker.sock`, `ssh://root@gpu1`.
    pub endpoint: Endpoint,
    /// The way to it.
    pub transport: Transport,
    /// `Docker 20.10.24`, `Podman 4.3.1`.
    pub name: String,
    /// The newest version of the API that it speaks.
    pub api: (u32, u32),
    /// Whether it is Podman, whose builder is another one.
    pub podman: bool,
}

impl Engine {
    /// Connects and asks for the versions. Headers with credentials are written in the alphabet that engines
    /// read.
    pub fn connect<'a>(endpoint: &'a Endpoint) -> BoxFuture<'a, Result<Engine, Error>> {
        Box::pin(async move {
            let transport = Transport::open(endpoint, None, Instant::now() + transport::OPEN_TIMEOUT).await;
            let engine = match transport {
                Ok(transport) => Engine::over(transport).await,
                Err(blocked) => Err(blocked),
            };
            engine.map_err(|blocked| blocked.error(endpoint))
        })
    }

    /// Connects over a transport that is open.
    pub fn over(transport: Transport) -> BoxFuture<'static, Result<Engine, ConnectError>> {
        Box::pin(async move {
            let docker = open(transport.local(), CONNECT_TIMEOUT).await;
            let docker = docker.map_err(|error| unreachable(&error))?;
            let docker = docker.with_request_modifier(fix_request);
            let version = tokio::time::timeout(CONNECT_TIMEOUT, docker.version()).await;
            let version = match version {
                Ok(Ok(version)) => version,
                Ok(Err(error)) => return Err(unreachable(&error.into())),
                Err(_) => return Err(unreachable(&unanswered(&docker, CONNECT_TIMEOUT).await)),
            };
            let components = version.components.unwrap_or_default();
            let podman = components.iter().any(|component| component.name.starts_with("Podman"));
            let number = version.version.unwrap_or_else(|| "of unknown version".into());
            let api = version.api_version.as_deref().and_then(api).unwrap_or((1, 24));
            let name = format!("{} {number}", if podman { "Podman" } else { "Docker" });
            let endpoint = transport.endpoint.clone();
            Ok(Engine { docker, endpoint, transport, name, api, podman })
        })
    }

    /// Whether it answers now; why not, as far as the way to it shows that.
    pub fn answers<'a>(&'a self, deadline: Instant) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let limit = deadline.saturating_duration_since(Instant::now());
            if let Some(connection) = self.transport.ssh() {
                let answers = connection.check_engine(deadline).await;
                return answers.map_err(|blocked| EngineError::Connection(blocked.message));
            }
            match tokio::time::timeout_at(deadline.into(), self.docker.ping()).await {
                Ok(answer) => answer.map(drop).map_err(EngineError::from),
                Err(_) => Err(EngineError::answer_timeout(limit)),
            }
        })
    }

    /// Why BuildKit cannot be used here, if it cannot.
    pub fn without_buildkit(&self) -> Option<String> {
        if self.podman {
            return Some(format!("{} builds with its own builder (Buildah)", self.name));
        }
        let (major, minor) = self.api;
        (self.api < BUILDKIT_SINCE)
            .then(|| format!("{} (API {major}.{minor}) is older than BuildKit", self.name))
    }
}

/// A connection to a local endpoint ([`Transport::local`]) whose API version is the engine's or bollard's,
/// whichever is older.
pub(super) async fn open(endpoint: &Endpoint, deadline: Duration) -> Result<Docker, EngineError> {
    let seconds = ANSWER_TIMEOUT.max(deadline).as_secs();
    let local = match endpoint.target() {
        Ok(Target::Unix(_)) => true,
        Ok(Target::Tcp(TcpAddress { tls, .. })) => *tls != Tls::Always,
        Ok(Target::Ssh(_)) | Err(_) => false,
    };
    if !local {
        return Err(EngineError::Invalid { text: endpoint.to_string(), expected: "a local endpoint" });
    }
    let docker = bounded::open(endpoint, seconds)?;
    match tokio::time::timeout(deadline, docker.clone().negotiate_version()).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(unanswered(&docker, deadline).await),
    }
}

/// Why there was no answer to `/version`: the engine hangs, or what it asks for that.
async fn unanswered(docker: &Docker, after: Duration) -> EngineError {
    match tokio::time::timeout(PING_TIMEOUT, docker.ping()).await {
        Ok(Ok(_)) => EngineError::TimedOut { what: Waited::EngineVersion, after },
        _ => EngineError::answer_timeout(after),
    }
}

pub(super) async fn answered<T>(
    answer: impl Future<Output = Result<T, bollard::errors::Error>>,
) -> Result<T, EngineError> {
    within(ANSWER_TIMEOUT, answer).await
}

pub(super) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, bollard::errors::Error>>,
) -> Result<T, EngineError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(EngineError::from),
        Err(_) => Err(EngineError::answer_timeout(limit)),
    }
}

/// [`answered`], and `None` where the engine says that there is no such thing (404).
pub(super) async fn optional<T>(
    answer: impl Future<Output = Result<T, bollard::errors::Error>>,
) -> Result<Option<T>, EngineError> {
    match answered(answer).await {
        Ok(thing) => Ok(Some(thing)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn unreachable(why: &EngineError) -> ConnectError {
    let error = ConnectError::new(why);
    match (why, why.cause()) {
        (EngineError::PermissionDenied(_), _) | (_, Cause::PermissionDenied) => {
            error.caused_by(ConnectCause::Denied).fix(Fix::run(
                "Run with sudo, or add your user to the docker group:",
                "envdoc check --only docker",
            ))
        }
        (_, Cause::TlsRequired) => error.fix(Fix::manual(
            "The engine requires TLS: set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the directory \
                of ca.pem, cert.pem and key.pem",
        )),
        (EngineError::TimedOut { what: Waited::EngineVersion, .. }, _) => {
            error.caused_by(ConnectCause::NoAnswer).fix(Fix::restarts_service(
                "containerd likely hangs. Check it on that machine, then restart it:",
                &["systemctl status containerd", "journalctl -u containerd", "systemctl restart containerd"],
            ))
        }
        _ => {
            let error = error.fix(Fix::run("Find the cause:", "envdoc check --only docker"));
            match why {
                EngineError::TimedOut { .. } => error.caused_by(ConnectCause::NoAnswer),
                EngineError::ConnectionRefused(_) => error.caused_by(ConnectCause::Refused),
                _ => error,
            }
        }
    }
}

/// `1.41`.
fn api(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
