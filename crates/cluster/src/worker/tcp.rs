//! Names and TCP connections.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Answer, Failure, GREETING, Why};

/// The longest that the first line of the other side may be, in bytes.
const GREETING_MAX: usize = 300;
/// How long one that has connected is kept, so that it reads its greeting before the connection ends.
const GREETED_LINGER: Duration = Duration::from_secs(5);
/// How long a side that accepted may take to say something.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn resolve(name: &str) -> Result<Vec<IpAddr>, Failure> {
    let unknown = |says: String| Failure { why: Why::UnknownName, says };
    let found = tokio::net::lookup_host((name, 0)).await;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map_err(|error| unknown(format!("{name}: {error}")))? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    if addresses.is_empty() {
        return Err(unknown(format!("{name} has no address")));
    }
    Ok(addresses)
}

/// Accepts on all addresses, IPv6 too where there is any, and never ends by itself.
pub(super) async fn listen(port: u16, nonce: &str, says: impl Fn(u16)) -> Result<Answer, Failure> {
    let listener = match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(error) if error.kind() != ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        listener => listener,
    };
    let listener = listener.map_err(|error| taken(&error, port))?;
    says(listener.local_addr().map_err(|error| failure(&error))?.port());
    let greeting = format!("{GREETING} {nonce}\n");
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let greeting = greeting.clone();
        tokio::spawn(async move {
            let _ = stream.write_all(greeting.as_bytes()).await;
            let mut ignored = [0; 64];
            let _ = tokio::time::timeout(GREETED_LINGER, stream.read(&mut ignored)).await;
        });
    }
}

pub(super) async fn connect(address: &str, port: u16, greeting: bool) -> Result<Answer, Failure> {
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
        let greeting = if greeting { Some(first_line(&mut stream).await?) } else { None };
        return Ok(Answer::Connected { milliseconds, address: ip, greeting });
    }
    Err(last.unwrap_or_else(|| Failure { why: Why::UnknownName, says: format!("{address} has no address") }))
}

async fn first_line(stream: &mut TcpStream) -> Result<String, Failure> {
    let silent = |says: &str| Failure { why: Why::Silent, says: says.into() };
    let mut line = Vec::new();
    let reading = async {
        while line.len() < GREETING_MAX {
            match stream.read_u8().await {
                Ok(b'\n') => return Ok(()),
                Ok(byte) => line.push(byte),
                Err(_) if line.is_empty() => {
                    return Err(silent("accepted the connection and closed it"));
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    };
    match tokio::time::timeout(GREETING_TIMEOUT, reading).await {
        Ok(read) => read?,
        Err(_) => {
            let says =
                format!("accepted the connection and sent nothing for {} s", GREETING_TIMEOUT.as_secs());
            return Err(silent(&says));
        }
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

pub(super) fn taken(error: &std::io::Error, port: u16) -> Failure {
    let mut failure = failure(error);
    // Any port would do: none is free.
    if port == 0 && failure.why == Why::PortTaken {
        failure.why = Why::NoFreePort;
        return failure;
    }
    failure.says = format!("port {port}: {}", failure.says);
    failure
}

/// [`failure`] of a connection: its own end gets a port by itself, and there may be none.
fn connect_failure(error: &std::io::Error) -> Failure {
    let failure = failure(error);
    let why = if failure.why == Why::PortTaken { Why::NoFreePort } else { failure.why };
    Failure { why, ..failure }
}

/// The kind of an error of the system, and its words.
pub(super) fn failure(error: &std::io::Error) -> Failure {
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
    Failure { why, says: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refused_silent_and_greeted_are_told_apart() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let connected = connect("127.0.0.1", port, false).await.unwrap();
        assert!(matches!(connected, Answer::Connected { greeting: None, .. }));
        drop(silent);
        let refused = connect("127.0.0.1", port, true).await;
        assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");
        let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = closing.local_addr().unwrap().port();
        tokio::spawn(async move { drop(closing.accept().await) });
        let silent = connect("127.0.0.1", port, true).await;
        assert!(matches!(silent, Err(Failure { why: Why::Silent, .. })), "{silent:?}");

        let (sender, port) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let listening = tokio::spawn(async move {
            listen(0, "me", |port| sender.lock().unwrap().take().unwrap().send(port).unwrap()).await
        });
        let greeted = connect("localhost", port.await.unwrap(), true).await.unwrap();
        let Answer::Connected { greeting, .. } = greeted else { panic!("{greeted:?}") };
        assert_eq!(greeting.as_deref(), Some("envdoc-worker me"));
        listening.abort();
    }
}
