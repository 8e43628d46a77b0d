//! Datagrams of a given size that are acknowledged: whether large packets arrive whole.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use tokio::net::UdpSocket;

use super::{Answer, Failure, machine, tcp};

/// Begins each datagram; the sender's nonce and number follow.
const ASKS: &[u8] = b"envdoc? ";
/// Begins each acknowledgement; the size that arrived, the number and the receiver's nonce follow.
const ANSWERS: &str = "envdoc! ";
/// The largest datagram.
const DATAGRAM_LIMIT_BYTES: usize = 65_535;
/// The smallest packet that holds the beginning, in bytes with headers.
pub(super) const PACKET_MIN_BYTES: u32 = 120;
/// A datagram that is not acknowledged is sent again after this time.
const RESEND_INTERVAL: Duration = Duration::from_millis(300);

/// A socket on any port of all addresses, IPv6 too where there is any.
pub(crate) fn any_port() -> Result<std::net::UdpSocket, Failure> {
    std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
        .or_else(|_| std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))
        .map_err(|error| tcp::taken(&error, 0))
}

/// A socket that sends to one address only, and reports what comes back from there.
pub(crate) fn connected(to: SocketAddr) -> Result<std::net::UdpSocket, Failure> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = std::net::UdpSocket::bind(any).map_err(|error| tcp::taken(&error, 0))?;
    socket.connect(to).map_err(|error| tcp::failure(&error))?;
    Ok(socket)
}

/// Acknowledges on all addresses, and never ends by itself.
pub(super) async fn listen(port: u16, nonce: &str, says: impl Fn(u16)) -> Result<Answer, Failure> {
    let socket = match UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
            UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        socket => socket,
    };
    let socket = socket.map_err(|error| tcp::taken(&error, port))?;
    says(socket.local_addr().map_err(|error| tcp::failure(&error))?.port());
    let mut buffer = vec![0; DATAGRAM_LIMIT_BYTES];
    loop {
        let Ok((size, from)) = socket.recv_from(&mut buffer).await else { continue };
        let Some(rest) = buffer[..size].strip_prefix(ASKS) else { continue };
        let Some(number) = rest.get(..32) else { continue };
        let mut answer = format!("{ANSWERS}{size} ").into_bytes();
        answer.extend_from_slice(number);
        answer.push(b' ');
        answer.extend_from_slice(nonce.as_bytes());
        let _ = socket.send_to(&answer, from).await;
    }
}

pub(super) async fn send(address: &str, port: u16, size: u32, whole: bool) -> Result<Answer, Failure> {
    let line = Line::open(address, port, whole).await?;
    let started = Instant::now();
    let mut sent = 0;
    loop {
        sent += 1;
        if let Some(receiver) = line.once(size, RESEND_INTERVAL).await? {
            let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
            return Ok(Answer::Acknowledged { milliseconds, sent, receiver });
        }
    }
}

/// Sends a message, again every 300 ms, until an answer comes.
pub(super) async fn exchange(server: SocketAddr, message: &[u8]) -> Result<Vec<u8>, Failure> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await.map_err(|error| tcp::failure(&error))?;
    socket.connect(server).await.map_err(|error| tcp::failure(&error))?;
    let mut buffer = vec![0; DATAGRAM_LIMIT_BYTES];
    loop {
        socket.send(message).await.map_err(|error| tcp::failure(&error))?;
        match tokio::time::timeout(RESEND_INTERVAL, socket.recv(&mut buffer)).await {
            Ok(Ok(size)) => return Ok(buffer[..size].to_vec()),
            Ok(Err(error)) => return Err(tcp::failure(&error)),
            Err(_) => {}
        }
    }
}

/// A socket that is connected to a listener.
pub(super) struct Line {
    socket: UdpSocket,
    headers: u32,
}

impl Line {
    /// Takes the first address that the name has. `whole`: no fragments, whatever the kernel remembers of the
    /// path.
    pub(super) async fn open(address: &str, port: u16, whole: bool) -> Result<Line, Failure> {
        let address = tcp::resolve(address).await?[0];
        let (any, headers): (SocketAddr, u32) = match address {
            IpAddr::V4(_) => ((Ipv4Addr::UNSPECIFIED, 0).into(), 28),
            IpAddr::V6(_) => ((Ipv6Addr::UNSPECIFIED, 0).into(), 48),
        };
        let failure = |error: std::io::Error| tcp::failure(&error);
        let socket = UdpSocket::bind(any).await.map_err(failure)?;
        let set = match (address, whole) {
            (IpAddr::V4(_), true) => {
                sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::PROBE)
            }
            (IpAddr::V4(_), false) => {
                sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DONT)
            }
            (IpAddr::V6(_), true) => {
                sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::PROBE)
            }
            (IpAddr::V6(_), false) => {
                sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::DONT)
            }
        };
        set.map_err(|error| tcp::failure(&error.into()))?;
        socket.connect((address, port)).await.map_err(failure)?;
        Ok(Line { socket, headers })
    }

    /// Sends one packet of a size and waits; the receiver's nonce, if it arrived whole. The error that the
    /// kernel reports of an earlier one (nobody listens) is one of this.
    pub(super) async fn once(&self, size: u32, wait: Duration) -> Result<Option<String>, Failure> {
        self.burst(size, &number(), 1, wait).await
    }

    /// [`Line::once`] with so many packets at once, of which one that arrives is enough; an answer to an
    /// earlier burst of the same number too.
    pub(super) async fn burst(
        &self,
        size: u32,
        number: &str,
        count: u32,
        wait: Duration,
    ) -> Result<Option<String>, Failure> {
        let payload = usize::try_from(size.max(PACKET_MIN_BYTES) - self.headers)
            .unwrap_or(DATAGRAM_LIMIT_BYTES)
            .min(DATAGRAM_LIMIT_BYTES);
        let mut datagram = Vec::with_capacity(payload);
        datagram.extend_from_slice(ASKS);
        datagram.extend_from_slice(number.as_bytes());
        datagram.resize(payload, b'.');
        for _ in 0..count {
            self.socket.send(&datagram).await.map_err(|error| tcp::failure(&error))?;
        }
        let expected = format!("{ANSWERS}{payload} {number} ");
        let until = tokio::time::Instant::now() + wait;
        let mut buffer = [0; 256];
        loop {
            match tokio::time::timeout_at(until, self.socket.recv(&mut buffer)).await {
                Err(_) => return Ok(None),
                Ok(Err(error)) => return Err(tcp::failure(&error)),
                Ok(Ok(size)) => {
                    let text = String::from_utf8_lossy(&buffer[..size]);
                    if let Some(receiver) = text.strip_prefix(&expected) {
                        return Ok(Some(receiver.to_owned()));
                    }
                }
            }
        }
    }
}

/// Of a datagram, or of several of one size.
pub(super) fn number() -> String {
    machine::nonce() + &machine::nonce()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{Why, mtu};

    #[tokio::test]
    async fn what_arrives_is_acknowledged_and_the_largest_size_found() {
        let (sender, port) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let listening = tokio::spawn(async move {
            listen(0, "me", |port| sender.lock().unwrap().take().unwrap().send(port).unwrap()).await
        });
        let port = port.await.unwrap();
        let answer = send("127.0.0.1", port, 9000, true).await.unwrap();
        assert!(
            matches!(&answer, Answer::Acknowledged { sent: 1, receiver, .. } if receiver == "me"),
            "{answer:?}"
        );
        let answer = mtu::search("127.0.0.1", port, 9000).await.unwrap();
        assert_eq!(answer, Answer::PathMtu { bytes: 9000, lost: None, refused: None });
        let taken = listen(port, "other", |_| {}).await;
        assert!(matches!(taken, Err(Failure { why: Why::PortTaken, .. })), "{taken:?}");
        listening.abort();
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_refuses() {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let refused = send("127.0.0.1", free, 200, false).await;
        assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");
    }
}
