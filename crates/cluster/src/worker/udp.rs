//! Datagrams of a given size that are acknowledged: whether large packets arrive whole.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use tokio::net::UdpSocket;

use super::auth::{self, DATAGRAM_MAC_DIGITS, Secret, Seen};
use super::{Answer, Failure, Why, tcp};

/// Begins each datagram; a number and its code follow.
const ASKS: &[u8] = b"envdoc? ";
/// Begins each acknowledgement; the size that arrived, the number, the receiver's nonce and a code follow.
const ANSWERS: &str = "envdoc! ";
/// Hexadecimal digits of a number.
const NUMBER_DIGITS: usize = 32;
/// The largest datagram.
const DATAGRAM_LIMIT_BYTES: usize = 65_535;
/// The smallest packet that holds the beginning, in bytes with headers.
pub(super) const PACKET_MIN_BYTES: u32 = 120;
/// A datagram that is not acknowledged is sent again after this time.
const RESEND_INTERVAL: Duration = Duration::from_millis(300);

/// A socket on any port of `address`, with the meaning of [`tcp::bind`].
pub(crate) fn any_port(address: Option<IpAddr>) -> Result<std::net::UdpSocket, Failure> {
    bind(address, 0).map_err(|error| tcp::taken(&error, 0))
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

/// A socket at `address`, with the meaning of [`tcp::bind`].
fn bind(address: Option<IpAddr>, port: u16) -> std::io::Result<std::net::UdpSocket> {
    use std::net::UdpSocket;
    if let Some(address) = address {
        match UdpSocket::bind((address, port)) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => {}
            socket => return socket,
        }
    }
    match UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
            UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))
        }
        socket => socket,
    }
}

/// Acknowledges the datagrams of this run, each once, and never ends by itself. Others are not answered.
pub(super) async fn listen(
    (address, port): (Option<IpAddr>, u16),
    nonce: &str,
    secret: &Secret,
    listening: impl Fn(u16),
) -> Result<Answer, Failure> {
    let socket = bind(address, port).and_then(|socket| {
        socket.set_nonblocking(true)?;
        UdpSocket::from_std(socket)
    });
    let socket = socket.map_err(|error| tcp::taken(&error, port))?;
    listening(socket.local_addr().map_err(|error| tcp::failure(&error))?.port());
    let (mut buffer, seen) = (vec![0; DATAGRAM_LIMIT_BYTES], Seen::default());
    loop {
        let Ok((size, from)) = socket.recv_from(&mut buffer).await else { continue };
        let Some(number) = number(&buffer[..size], secret).filter(|number| seen.first(number)) else {
            continue;
        };
        let _ = socket.send_to(acknowledgement(size, number, nonce, secret).as_bytes(), from).await;
    }
}

/// What acknowledges a datagram of so many bytes.
pub(super) fn acknowledgement(size: usize, number: &str, nonce: &str, secret: &Secret) -> String {
    let size = size.to_string();
    let code = secret.sign_datagram("received", &[&size, number, nonce]);
    format!("{ANSWERS}{size} {number} {nonce} {code}")
}

/// The number of a datagram of this run.
fn number<'d>(datagram: &'d [u8], secret: &Secret) -> Option<&'d str> {
    let rest = datagram.strip_prefix(ASKS)?.get(..NUMBER_DIGITS + DATAGRAM_MAC_DIGITS)?;
    let (number, code) = std::str::from_utf8(rest).ok()?.split_at_checked(NUMBER_DIGITS)?;
    // Its size is part of the proof: what arrives cut was not sent so.
    secret.verify("sent", &[&datagram.len().to_string(), number], code).then_some(number)
}

pub(super) async fn send(
    address: &str,
    port: u16,
    size: u32,
    whole: bool,
    secret: &Secret,
) -> Result<Answer, Failure> {
    let line = Line::open(address, port, whole, secret).await?;
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
pub(super) struct Line<'s> {
    socket: UdpSocket,
    headers: u32,
    secret: &'s Secret,
}

impl<'s> Line<'s> {
    /// Takes the first address that the name has. `whole`: no fragments, whatever the kernel remembers of the
    /// path.
    pub(super) async fn open(
        address: &str,
        port: u16,
        whole: bool,
        secret: &'s Secret,
    ) -> Result<Line<'s>, Failure> {
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
        Ok(Line { socket, headers, secret })
    }

    /// Sends one packet of a size and waits; the receiver's nonce, if it arrived whole. The error that the
    /// kernel reports of an earlier one (nobody listens) is one of this.
    pub(super) async fn once(&self, size: u32, wait: Duration) -> Result<Option<String>, Failure> {
        self.burst(size, &mut Vec::new(), 1, wait).await
    }

    /// [`Line::once`] with so many packets at once, of which one that arrives is enough; an answer to an
    /// earlier burst counts too. Each has a number of its own, because none is acknowledged twice; `numbers`
    /// are those of this size so far.
    pub(super) async fn burst(
        &self,
        size: u32,
        numbers: &mut Vec<String>,
        count: u32,
        wait: Duration,
    ) -> Result<Option<String>, Failure> {
        let payload = usize::try_from(size.max(PACKET_MIN_BYTES) - self.headers)
            .unwrap_or(DATAGRAM_LIMIT_BYTES)
            .min(DATAGRAM_LIMIT_BYTES);
        for _ in 0..count {
            let number = auth::random::<{ NUMBER_DIGITS / 2 }>()
                .map_err(|error| Failure { why: Why::Other, message: error.to_string() })?;
            let datagram = self.datagram(&number, payload);
            numbers.push(number);
            self.socket.send(&datagram).await.map_err(|error| tcp::failure(&error))?;
        }
        let until = tokio::time::Instant::now() + wait;
        let mut buffer = [0; 256];
        loop {
            match tokio::time::timeout_at(until, self.socket.recv(&mut buffer)).await {
                Err(_) => return Ok(None),
                Ok(Err(error)) => return Err(tcp::failure(&error)),
                Ok(Ok(size)) => {
                    let answer = &buffer[..size];
                    let receiver = numbers.iter().find_map(|number| self.receiver(answer, payload, number));
                    if receiver.is_some() {
                        return Ok(receiver);
                    }
                }
            }
        }
    }

    fn datagram(&self, number: &str, payload: usize) -> Vec<u8> {
        let mut datagram = Vec::with_capacity(payload);
        datagram.extend_from_slice(ASKS);
        datagram.extend_from_slice(number.as_bytes());
        let code = self.secret.sign_datagram("sent", &[&payload.to_string(), number]);
        datagram.extend_from_slice(code.as_bytes());
        datagram.resize(payload, b'.');
        datagram
    }

    /// The nonce of the worker that acknowledges a datagram.
    fn receiver(&self, answer: &[u8], payload: usize, number: &str) -> Option<String> {
        let (payload, text) = (payload.to_string(), std::str::from_utf8(answer).ok()?);
        let rest = text.strip_prefix(ANSWERS)?.strip_prefix(&format!("{payload} {number} "))?;
        let (nonce, code) = rest.split_once(' ')?;
        self.secret.verify("received", &[&payload, number, nonce], code).then(|| nonce.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::mtu;

    /// A listener on the loopback, and its port.
    async fn listening(secret: &Secret) -> (tokio::task::JoinHandle<()>, u16) {
        let (sender, port) = tokio::sync::oneshot::channel();
        let (sender, secret) = (std::sync::Mutex::new(Some(sender)), secret.clone());
        let listening = tokio::spawn(async move {
            let listening = |port| sender.lock().unwrap().take().unwrap().send(port).unwrap();
            let _ = listen((Some(Ipv4Addr::LOCALHOST.into()), 0), "me", &secret, listening).await;
        });
        (listening, port.await.unwrap())
    }

    #[tokio::test]
    async fn acknowledges_datagrams_and_finds_the_path_mtu() {
        let secret = auth::tests::secret();
        let (listening, port) = listening(&secret).await;
        let answer = send("127.0.0.1", port, 9000, true, &secret).await.unwrap();
        assert!(
            matches!(&answer, Answer::Acknowledged { sent: 1, receiver, .. } if receiver == "me"),
            "{answer:?}"
        );
        let answer = mtu::search("127.0.0.1", port, 9000, &secret).await.unwrap();
        assert_eq!(answer, Answer::PathMtu { bytes: 9000, lost: None, refused: None });
        let taken = listen((Some(Ipv4Addr::LOCALHOST.into()), port), "other", &secret, |_| {}).await;
        assert!(matches!(taken, Err(Failure { why: Why::PortTaken, .. })), "{taken:?}");
        listening.abort();
    }

    #[tokio::test]
    async fn rejects_datagrams_of_strangers_and_replays() {
        let secret = auth::tests::secret();
        let (listening, port) = listening(&secret).await;
        let own = Line::open("127.0.0.1", port, false, &secret).await.unwrap();
        let number = auth::random::<{ NUMBER_DIGITS / 2 }>().unwrap();
        let datagram = own.datagram(&number, 200);
        // A datagram of another run, one that lost a byte, the right one twice: one answer.
        let other = auth::tests::secret();
        let stranger = Line::open("127.0.0.1", port, false, &other).await.unwrap();
        for bytes in [&stranger.datagram(&number, 200)[..], &datagram[..199], &datagram, &datagram] {
            own.socket.send(bytes).await.unwrap();
        }
        // Datagrams over the loopback keep their order: what comes after this one's answer would be too much.
        let last = auth::random::<{ NUMBER_DIGITS / 2 }>().unwrap();
        own.socket.send(&own.datagram(&last, 100)).await.unwrap();
        let mut answers = Vec::new();
        let mut buffer = [0; 256];
        while !answers.last().is_some_and(|answer: &String| answer.contains(&last)) {
            let size = own.socket.recv(&mut buffer).await.unwrap();
            answers.push(String::from_utf8_lossy(&buffer[..size]).into_owned());
        }
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert_eq!(own.receiver(answers[0].as_bytes(), 200, &number).as_deref(), Some("me"));
        // Without the secret nobody can acknowledge what was sent.
        assert_eq!(stranger.receiver(answers[0].as_bytes(), 200, &number), None);
        listening.abort();
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_refuses() {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let refused = send("127.0.0.1", free, 200, false, &auth::tests::secret()).await;
        assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");
    }
}
