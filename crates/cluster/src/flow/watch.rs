//! The worker's side: which packets of a flow pass the interfaces of a machine. A packet that a firewall of
//! the receiver drops is seen, as its interface had it; one that a firewall of the sender drops is not.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, sockopt};

use super::{Answer, BEGINNING, FLOW_LENGTH, Packet};
use crate::worker::{self, Failure, Why};

/// All protocols, what this machine sends too (linux/if_ether.h).
const ETH_P_ALL: u16 = 0x0003;
/// Numbers of protocols in the header of a packet (IANA).
const ICMP: u8 = 1;
const UDP: u8 = 17;
const ICMP_V6: u8 = 58;
/// How often it looks whether the time is over.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn watch(run: String, seconds: f64) -> Result<Answer, Failure> {
    let watched = tokio::task::spawn_blocking(move || packets(&run, Duration::from_secs_f64(seconds)));
    watched.await.map_err(|error| Failure { why: Why::Other, message: error.to_string() })?
}

fn packets(run: &str, time: Duration) -> Result<Answer, Failure> {
    let failure = |error: rustix::io::Errno| worker::failure(&error.into());
    let protocol = rustix::net::Protocol::from_raw(
        std::num::NonZeroU32::new(u32::from(ETH_P_ALL.to_be())).unwrap_or(std::num::NonZeroU32::MIN),
    );
    let socket = open(protocol).map_err(failure)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(STOP_INTERVAL)).map_err(failure)?;
    let finder = Finder::new(BEGINNING);
    let (mut found, mut buffer, started) = (BTreeSet::new(), [0_u8; 2048], Instant::now());
    while started.elapsed() < time {
        let Ok((size, _)) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()) else { continue };
        if let Some(packet) = read(&buffer[..size.min(2048)], &finder, run) {
            found.insert(packet);
        }
    }
    Ok(Answer::Watched { packets: found.into_iter().collect() })
}

/// With a protocol it hears all interfaces at once; without the link's header.
fn open(protocol: Protocol) -> rustix::io::Result<rustix::fd::OwnedFd> {
    rustix::net::socket(AddressFamily::PACKET, SocketType::DGRAM, Some(protocol))
}

/// A packet from its IP header on, where it carries a datagram of the run.
fn read(packet: &[u8], finder: &Finder<'_>, run: &str) -> Option<Packet> {
    let at = finder.find(packet)? + BEGINNING.len();
    let flow = std::str::from_utf8(packet.get(at..at + FLOW_LENGTH)?).ok()?;
    if !flow.starts_with(run) {
        return None;
    }
    let (source, destination, protocol, header) = ends(packet)?;
    let port = match protocol {
        UDP => Some(u16::from_be_bytes([*packet.get(header + 2)?, *packet.get(header + 3)?])),
        ICMP | ICMP_V6 => None,
        _ => return None,
    };
    Some(Packet { flow: flow.to_owned(), source, destination, port })
}

/// Source, destination, protocol, and the length of the IP header.
fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr, u8, usize)> {
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

    const RUN: &str = "abcdefabcdefabcdefabcdef";

    fn ipv4(protocol: u8, behind: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 77, 10, 1, 10, 77, 10, 2];
        packet.extend_from_slice(behind);
        packet.extend_from_slice(BEGINNING);
        packet.extend_from_slice(RUN.as_bytes());
        packet.extend_from_slice(b"00000001....");
        packet
    }

    fn read(packet: &[u8]) -> Option<Packet> {
        super::read(packet, &Finder::new(BEGINNING), RUN)
    }

    #[test]
    fn the_overlays_packet_and_a_firewalls_answer_are_told_apart() {
        // UDP from port 40000 to 4789.
        let vxlan = read(&ipv4(UDP, &[0x9c, 0x40, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0])).unwrap();
        assert_eq!((vxlan.port, vxlan.flow.as_str()), (Some(4789), "abcdefabcdefabcdefabcdef00000001"));
        assert_eq!((vxlan.source, vxlan.destination), ([10, 77, 10, 1].into(), [10, 77, 10, 2].into()));
        // Destination unreachable, port unreachable.
        let icmp = read(&ipv4(ICMP, &[3, 3, 0, 0])).unwrap();
        assert_eq!(icmp.port, None);
        assert_eq!(read(&ipv4(6, &[0; 20])), None);
    }

    #[test]
    fn what_is_cut_off_is_no_packet() {
        let packet = ipv4(UDP, &[0x9c, 0x40, 0x12, 0xb5, 0, 0, 0, 0]);
        for length in 0..packet.len() - 4 {
            assert_eq!(read(&packet[..length]), None);
        }
        assert_eq!(read(&[0xff; 64]), None);
    }
}
