//! Names and TCP connections.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::auth::{self, Refusal, Secret, Seen};
use super::{Answer, Expected, Failure, Why};

/// How long the other side may take to say something.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// The addresses that this machine has for a name, each once; perhaps none.
pub(crate) async fn lookup(name: &str) -> std::io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in tokio::net::lookup_host((name, 0)).await? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}

pub(super) async fn resolve(name: &str) -> Result<Vec<IpAddr>, Failure> {
    let unknown = |message: String| Failure { why: Why::UnknownName, message };
    let addresses = lookup(name).await.map_err(|error| unknown(format!("{name}: {error}")))?;
    if addresses.is_empty() {
        return Err(unknown(format!("{name} has no address")));
    }
    Ok(addresses)
}

/// A listener at `address`; at all addresses, IPv6 too where there is any, where none is given or this
/// machine does not have it (it is known to others by one that is translated).
pub(crate) async fn bind(address: Option<IpAddr>, port: u16) -> std::io::Result<TcpListener> {
    if let Some(address) = address {
        match TcpListener::bind((address, port)).await {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {}
            listener => return listener,
        }
    }
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        listener => listener,
    }
}

/// Accepts workers of this run, sends them its `nonce`, and never ends by itself. Others receive nothing.
pub(super) async fn listen(
    (address, port): (Option<IpAddr>, u16),
    nonce: &str,
    secret: &Secret,
    listening: impl Fn(u16),
) -> Result<Answer, Failure> {
    let listener = bind(address, port).await.map_err(|error| taken(&error, port))?;
    listening(listener.local_addr().map_err(|error| failure(&error))?.port());
    let greeting = Arc::new(format!("{nonce}\n"));
    let seen = Arc::new(Seen::default());
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (greeting, seen, secret) = (Arc::clone(&greeting), Arc::clone(&seen), secret.clone());
        tokio::spawn(async move {
            let admitted = tokio::time::timeout(GREETING_TIMEOUT, auth::admit(&mut stream, &secret, &seen));
            if matches!(admitted.await, Ok(Ok(_))) {
                let _ = stream.write_all(greeting.as_bytes()).await;
            }
        });
    }
}

pub(super) async fn connect(
    address: &str,
    port: u16,
    expected: Expected,
    secret: Option<&Secret>,
) -> Result<Answer, Failure> {
    let addresses = resolve(address).await?;
    let started = Instant::now();
    let mut last = None;
    for ip in addresses {
        let mut stream = match TcpStream::connect(SocketAddr::new(ip, port)).await {
            Ok(stream) => stream,
            Err(error) => {
                last = Some(connect_failure(&error));
                continue;
            }
        };
        let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
        let greeting = greeting(&mut stream, expected, secret);
        let greeting = tokio::time::timeout(GREETING_TIMEOUT, greeting).await;
        let greeting = greeting.map_err(|_| Failure {
            why: Why::Silent,
            message: format!("accepted the connection and sent nothing for {} s", GREETING_TIMEOUT.as_secs()),
        })?;
        let greeting = greeting.map_err(|refusal| refused(&refusal))?;
        return Ok(Answer::Connected { milliseconds, address: ip, greeting });
    }
    Err(last
        .unwrap_or_else(|| Failure { why: Why::UnknownName, message: format!("{address} has no address") }))
}

/// What the other side says first, where that is waited for.
async fn greeting(
    stream: &mut TcpStream,
    expected: Expected,
    secret: Option<&Secret>,
) -> Result<Option<String>, Refusal> {
    match (expected, secret) {
        (Expected::Nothing, _) => Ok(None),
        (Expected::Line, _) => auth::line(stream).await.map(Some),
        (Expected::Worker, Some(secret)) => {
            auth::prove(stream, secret, "probe").await?;
            auth::line(stream).await.map(Some)
        }
        (Expected::Worker, None) => Err(Refusal::Connection(ErrorKind::NotConnected.into())),
    }
}

fn refused(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::Connection(error) => failure(error),
        Refusal::Closed => Failure { why: Why::Silent, message: refusal.to_string() },
        Refusal::Stranger(_) => Failure { why: Why::Other, message: refusal.to_string() },
    }
}

pub(super) fn taken(error: &std::io::Error, port: u16) -> Failure {
    let mut failure = failure(error);
    // Any port would do: none is free.
    if port == 0 && failure.why == Why::PortTaken {
        failure.why = Why::NoFreePort;
        return failure;
    }
    failure.message = format!("port {port}: {}", failure.message);
    failure
}

/// [`failure`] of a connection: its own end gets a port by itself, and there may be none.
fn connect_failure(error: &std::io::Error) -> Failure {
    let failure = failure(error);
    let why = if failure.why == Why::PortTaken { Why::NoFreePort } else { failure.why };
    Failure { why, ..failure }
}

/// The kind of an error of the system, and its words.
pub(crate) fn failure(error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        ErrorKind::ConnectionRefused => Why::Refused,
        ErrorKind::TimedOut => Why::TimedOut,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Why::Unreachable,
        ErrorKind::AddrInUse => Why::PortTaken,
        ErrorKind::AddrNotAvailable => Why::NoFreePort,
        ErrorKind::NotFound => Why::NotFound,
        ErrorKind::PermissionDenied => Why::Denied,
        _ if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()) => Why::TooLarge,
        _ => Why::Other,
    };
    Failure { why, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn distinguishes_refused_silent_and_greeting_ports() {
        let (nothing, line, worker) = (Expected::Nothing, Expected::Line, Expected::Worker);
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let connected = connect("127.0.0.1", port, nothing, None).await.unwrap();
        assert!(matches!(connected, Answer::Connected { greeting: None, .. }));
        drop(silent);
        let refused = connect("127.0.0.1", port, line, None).await;
        assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");
        let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = closing.local_addr().unwrap().port();
        tokio::spawn(async move { drop(closing.accept().await) });
        let silent = connect("127.0.0.1", port, line, None).await;
        assert!(matches!(silent, Err(Failure { why: Why::Silent, .. })), "{silent:?}");

        let (sender, port) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let secret = auth::tests::secret();
        let own = secret.clone();
        let listening = tokio::spawn(async move {
            let listening = |port| sender.lock().unwrap().take().unwrap().send(port).unwrap();
            listen((Some(Ipv4Addr::LOCALHOST.into()), 0), "me", &own, listening).await
        });
        let port = port.await.unwrap();
        let greeted = connect("localhost", port, worker, Some(&secret)).await.unwrap();
        let Answer::Connected { greeting, .. } = greeted else { panic!("{greeted:?}") };
        assert_eq!(greeting.as_deref(), Some("me"));
        // A worker of another run is a stranger, and the other loopback address is not listened on.
        let stranger = connect("127.0.0.1", port, worker, Some(&auth::tests::secret())).await;
        assert!(matches!(stranger, Err(Failure { why: Why::Silent, .. })), "{stranger:?}");
        let other = connect("127.0.0.2", port, nothing, None).await;
        assert!(matches!(other, Err(Failure { why: Why::Refused, .. })), "{other:?}");
        listening.abort();
    }

    #[tokio::test]
    async fn binds_all_interfaces_if_the_address_is_not_local() {
        let listener = bind(Some("192.0.2.1".parse().unwrap()), 0).await.unwrap();
        assert!(listener.local_addr().unwrap().ip().is_unspecified());
    }
}
