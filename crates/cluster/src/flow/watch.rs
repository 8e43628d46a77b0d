//! The worker's side: which packets of a flow pass the interfaces of a machine. A packet that a firewall of
//! the receiver drops is seen, as its interface had it; one that a firewall of the sender drops is not.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, sockopt};

use super::datagram::{self, BEGINNING};
use super::{Answer, FLOW_LENGTH, Packet};
use crate::worker::auth::Secret;
use crate::worker::{self, Failure, Why};

/// All protocols, what this machine sends too (linux/if_ether.h).
const ETH_P_ALL: u16 = 0x0003;
/// Numbers of protocols in the header of a packet (IANA).
const ICMP: u8 = 1;
pub(super) const UDP: u8 = 17;
const ICMP_V6: u8 = 58;
/// How often it looks whether the time is over.
pub(super) const STOP_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn watch(run: String, seconds: f64, secret: &Secret) -> Result<Answer, Failure> {
    let (secret, time) = (secret.clone(), Duration::from_secs_f64(seconds));
    let watched = tokio::task::spawn_blocking(move || packets(&run, time, &secret));
    watched.await.map_err(|error| Failure { why: Why::Other, message: error.to_string() })?
}

fn packets(run: &str, time: Duration, secret: &Secret) -> Result<Answer, Failure> {
    let failure = |error: rustix::io::Errno| worker::failure(&error.into());
    let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::DGRAM, all_protocols());
    let socket = socket.map_err(failure)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(STOP_INTERVAL)).map_err(failure)?;
    let finder = Finder::new(BEGINNING);
    let (mut found, mut buffer, started) = (BTreeSet::new(), [0_u8; 2048], Instant::now());
    let mut neighbours = Neighbours::default();
    while started.elapsed() < time {
        let Ok((size, _)) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()) else { continue };
        if let Some(packet) = read(&buffer[..size.min(2048)], &finder, run, secret) {
            found.insert(packet);
        } else if let Some(arp) = arp(&buffer[..size.min(2048)]) {
            neighbours.add(arp);
        }
    }
    let unanswered = neighbours.unanswered();
    Ok(Answer::Watched { packets: found.into_iter().collect(), unanswered })
}

/// With it a socket hears all interfaces at once.
pub(super) fn all_protocols() -> Option<Protocol> {
    let number = std::num::NonZeroU32::new(u32::from(ETH_P_ALL.to_be()));
    Some(Protocol::from_raw(number.unwrap_or(std::num::NonZeroU32::MIN)))
}

/// A packet from its IP header on, where it carries a datagram of the run. An ICMP error may quote too little
/// of one to prove it: then the random name of the flow must do.
pub(crate) fn read(packet: &[u8], finder: &Finder<'_>, run: &str, secret: &Secret) -> Option<Packet> {
    let start = finder.find(packet)?;
    let at = start + BEGINNING.len();
    let flow = std::str::from_utf8(packet.get(at..at + FLOW_LENGTH)?).ok()?;
    if !flow.starts_with(run) {
        return None;
    }
    let (source, destination, protocol, header) = ends(packet)?;
    if protocol == UDP && datagram::read(&packet[start..], secret).is_none() {
        return None;
    }
    let port = match protocol {
        UDP => Some(u16::from_be_bytes([*packet.get(header + 2)?, *packet.get(header + 3)?])),
        ICMP | ICMP_V6 => None,
        _ => return None,
    };
    Some(Packet { flow: flow.to_owned(), source, destination, port })
}

/// The beginning of ARP between IPv4 addresses on Ethernet (RFC 826).
const ARP: &[u8] = &[0, 1, 8, 0, 6, 4, 0];

/// An ARP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arp {
    /// The sender asks for the hardware address of another one.
    Request { sender: IpAddr, target: IpAddr },
    /// The sender tells its own.
    Reply { sender: IpAddr },
}

fn arp(packet: &[u8]) -> Option<Arp> {
    let rest = packet.strip_prefix(ARP)?;
    let address = |at: usize| -> Option<IpAddr> {
        let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(bytes).into())
    };
    let (sender, target) = (address(14)?, address(24)?);
    match rest.first()? {
        // Not one by which a machine announces or looks for its own address.
        1 if sender != target && !sender.is_unspecified() => Some(Arp::Request { sender, target }),
        2 => Some(Arp::Reply { sender }),
        _ => None,
    }
}

/// Who asked for whom, and who answered.
#[derive(Debug, Default)]
struct Neighbours {
    asked: BTreeSet<(IpAddr, IpAddr)>,
    answered: BTreeSet<IpAddr>,
}

/// What a machine on a busy network hears.
const NEIGHBOURS_MAX: usize = 4096;

impl Neighbours {
    fn add(&mut self, arp: Arp) {
        if self.asked.len() + self.answered.len() >= NEIGHBOURS_MAX {
            return;
        }
        match arp {
            Arp::Request { sender, target } => drop(self.asked.insert((sender, target))),
            Arp::Reply { sender } => drop(self.answered.insert(sender)),
        }
    }

    fn unanswered(self) -> Vec<(IpAddr, IpAddr)> {
        self.asked.into_iter().filter(|(_, target)| !self.answered.contains(target)).collect()
    }
}

/// Source, destination, protocol, and the length of the IP header.
pub(super) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr, u8, usize)> {
    match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| -> Option<IpAddr> {
                let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
                Some(Ipv4Addr::from(bytes).into())
            };
            let header = usize::from(packet.first()? & 0xf) * 4;
            Some((address(12)?, address(16)?, *packet.get(9)?, header))
        }
        6 => {
            let address = |at: usize| -> Option<IpAddr> {
                let bytes: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
                Some(Ipv6Addr::from(bytes).into())
            };
            Some((address(8)?, address(24)?, *packet.get(6)?, 40))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::auth;

    const RUN: &str = "abcdefabcdefabcdefabcdef";
    /// UDP from port 40000 to 4789, and the header of VXLAN.
    const VXLAN: &[u8] = &[0x9c, 0x40, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0];

    fn ipv4(protocol: u8, behind: &[u8], secret: &Secret) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 77, 10, 1, 10, 77, 10, 2];
        packet.extend_from_slice(behind);
        packet.extend_from_slice(&datagram::write(&format!("{RUN}00000001"), 7, secret));
        packet
    }

    fn read(packet: &[u8], secret: &Secret) -> Option<Packet> {
        super::read(packet, &Finder::new(BEGINNING), RUN, secret)
    }

    #[test]
    fn distinguishes_vxlan_packets_from_icmp_errors() {
        let secret = &auth::tests::secret();
        let vxlan = read(&ipv4(UDP, VXLAN, secret), secret).unwrap();
        assert_eq!((vxlan.port, vxlan.flow.as_str()), (Some(4789), "abcdefabcdefabcdefabcdef00000001"));
        assert_eq!((vxlan.source, vxlan.destination), ([10, 77, 10, 1].into(), [10, 77, 10, 2].into()));
        // Destination unreachable, port unreachable.
        let icmp = read(&ipv4(ICMP, &[3, 3, 0, 0], secret), secret).unwrap();
        assert_eq!(icmp.port, None);
        assert_eq!(read(&ipv4(6, &[0; 20], secret), secret), None);
        // Somebody else's, with the name of the flow.
        assert_eq!(read(&ipv4(UDP, VXLAN, &auth::tests::secret()), secret), None);
    }

    #[test]
    fn a_request_without_a_reply_is_unanswered() {
        let message = |kind: u8, sender: u8, target: u8| {
            let mut bytes = [ARP, &[kind]].concat();
            bytes.extend([2, 66, 10, 77, 10, 1, 10, 77, 10, sender, 0, 0, 0, 0, 0, 0, 10, 77, 10, target]);
            bytes
        };
        let address = |last: u8| IpAddr::from([10, 77, 10, last]);
        let mut neighbours = Neighbours::default();
        for (kind, sender, target) in [(1, 1, 99), (1, 1, 2), (2, 2, 1), (1, 1, 99), (1, 3, 3)] {
            let Some(arp) = arp(&message(kind, sender, target)) else { continue };
            neighbours.add(arp);
        }
        assert_eq!(neighbours.unanswered(), [(address(1), address(99))]);
        let whole = message(1, 1, 99);
        assert!((0..whole.len()).all(|length| arp(&whole[..length]).is_none()));
        assert_eq!(arp(&ipv4(UDP, VXLAN, &auth::tests::secret())), None);
    }

    #[test]
    fn rejects_truncated_packets() {
        let secret = &auth::tests::secret();
        let packet = ipv4(UDP, VXLAN, secret);
        let whole = 20 + VXLAN.len() + BEGINNING.len() + FLOW_LENGTH + 4 + auth::DATAGRAM_MAC_DIGITS;
        for length in 0..whole {
            assert_eq!(read(&packet[..length], secret), None);
        }
        assert!(read(&packet[..whole], secret).is_some());
        assert_eq!(read(&[0xff; 64], secret), None);
    }
}
