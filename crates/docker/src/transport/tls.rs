//! TCP with TLS and client certificates, as `dockerd --tlsverify` wants it: a thread of ours accepts on a
//! local socket and speaks TLS to the engine.

mod certificates;
mod fault;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ConnectError, Folder};
use crate::http;
use diagnostic::Fix;
use facts::docker::{Endpoint, TcpAddress};

/// The longest that one later connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most that is taken of the answer to a ping, in bytes.
const ANSWER_LIMIT_BYTES: usize = 64 << 10;

/// A local socket whose connections go to the engine over TLS.
#[derive(Debug)]
pub(super) struct Tunnel {
    folder: Folder,
    /// Dropped, it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl Tunnel {
    /// The endpoint to speak to.
    pub(super) fn local(&self) -> Endpoint {
        Endpoint::unix(self.folder.path("engine.sock"))
    }
}

/// Where it goes, and with what.
#[derive(Clone)]
struct Target {
    address: String,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    has_client_certificate: bool,
    folder: String,
}

/// Connects once, asks the engine for an answer, and opens the local socket.
pub(super) async fn open(
    address: &TcpAddress,
    certificates: &str,
    deadline: Instant,
) -> Result<Tunnel, ConnectError> {
    if address.port.is_none() {
        let error = ConnectError::new(format!("{address} has no port"));
        return Err(error.fix(Fix::manual("Use tcp://HOST:2376")));
    }
    let host = &address.host;
    let name = ServerName::try_from(host.clone())
        .map_err(|_| ConnectError::new(format!("{host:?} is not a host name or address")))?;
    let (config, has_client_certificate) = certificates::config(certificates)?;
    let folder = certificates.to_owned();
    let target = Target {
        address: address.to_string(),
        name,
        config: Arc::new(config),
        has_client_certificate,
        folder,
    };
    match tokio::time::timeout_at(deadline.into(), ping(&target)).await {
        Ok(answered) => answered?,
        Err(_) => {
            return Err(ConnectError::new(format!(
                "{address} accepted the connection but did not answer the TLS handshake in time"
            )));
        }
    }
    listen(target)
}

/// A connection whose handshake is done. In TLS 1.3 the engine judges our certificate after that: the first
/// answer tells.
async fn connect(target: &Target) -> Result<TlsStream<TcpStream>, ConnectError> {
    let stream =
        TcpStream::connect(&target.address).await.map_err(|error| fault::tcp(&target.address, &error))?;
    let connector = TlsConnector::from(target.config.clone());
    connector.connect(target.name.clone(), stream).await.map_err(|error| fault::tls(target, &error))
}

async fn ping(target: &Target) -> Result<(), ConnectError> {
    let stream = connect(target).await?;
    let request = hyper::Request::get("/_ping").body(Empty::<Bytes>::new());
    let request = request.map_err(|error| ConnectError::new(error.to_string()))?;
    let response = http::exchange(stream, request).await.map_err(|error| fault::http(target, &error))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await;
    let text = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()).unwrap_or_default();
    // An engine whose authorisation refuses a ping answers nevertheless: what it says later is exact.
    if status.is_server_error() || (status.is_client_error() && !status.as_str().starts_with("403")) {
        return Err(ConnectError::new(format!("HTTP status {status}: {}", text.trim())));
    }
    Ok(())
}

fn listen(target: Target) -> Result<Tunnel, ConnectError> {
    let folder = Folder::new()?;
    let refused = |error: std::io::Error| {
        ConnectError::new(format!(
            "cannot create a local socket for the engine: \
            {error}"
        ))
    };
    let socket = std::os::unix::net::UnixListener::bind(folder.path("engine.sock")).map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    let runtime = crate::runtime().map_err(ConnectError::new)?;
    let (stop, stopped) = oneshot::channel::<()>();
    runtime.spawn(async move {
        let Ok(listener) = UnixListener::from_std(socket) else { return };
        tokio::select! {
            () = accept(&listener, &target) => {}
            _ = stopped => {}
        }
    });
    Ok(Tunnel { folder, _stop: stop })
}

/// Connections end with the tunnel.
async fn accept(listener: &UnixListener, target: &Target) {
    let mut carried = JoinSet::new();
    while let Ok((local, _)) = listener.accept().await {
        carried.spawn(carry(local, target.clone()));
        while carried.try_join_next().is_some() {}
    }
}

/// Carries bytes both ways until both sides have ended. A connection that fails closes the local one: whoever
/// asked says so.
async fn carry(mut local: UnixStream, target: Target) {
    if let Ok(Ok(mut remote)) = tokio::time::timeout(CONNECT_TIMEOUT, connect(&target)).await {
        let _ = tokio::io::copy_bidirectional(&mut local, &mut remote).await;
    }
}
