//! The worker's side: the gossip of the Docker engines, as the interfaces of a machine see it, and how much
//! of it the kernel delivers. Nothing is sent: the engines ask each other every second.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, RecvFlags, SocketType, sockopt};
use serde::{Deserialize, Serialize};

use super::counters::{self, Counters};
use super::watch::{self, STOP_INTERVAL, UDP};
use super::{Answer, PORT_OF_GOSSIP};
use crate::worker::{self, Failure, Why, interfaces};

/// What one machine heard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Heard {
    /// Packets for the port of the gossip that reached an interface, by who sent them.
    pub incoming: BTreeMap<IpAddr, u32>,
    /// Packets for that port that left an interface, by whom they are for.
    pub outgoing: BTreeMap<IpAddr, u32>,
    /// Datagrams of all ports that the kernel gave to a program meanwhile; `None` where it has no such count.
    pub delivered: Option<u64>,
}

pub(super) async fn listen(seconds: f64) -> Result<Answer, Failure> {
    let heard = tokio::task::spawn_blocking(move || heard(Duration::from_secs_f64(seconds)));
    heard.await.map_err(|error| Failure { why: Why::Other, message: error.to_string() })?.map(Answer::Heard)
}

fn heard(time: Duration) -> Result<Heard, Failure> {
    let failure = |error: rustix::io::Errno| worker::failure(&error.into());
    let own: BTreeSet<IpAddr> =
        interfaces::all()?.into_iter().flat_map(|one| one.addresses).map(|(address, _)| address).collect();
    let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::DGRAM, watch::all_protocols());
    let socket = socket.map_err(failure)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(STOP_INTERVAL)).map_err(failure)?;
    let before = delivered();
    let (mut heard, mut known) = (Heard::default(), BTreeSet::new());
    let (mut buffer, started) = ([0_u8; 2048], Instant::now());
    while started.elapsed() < time {
        let Ok((size, _)) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()) else { continue };
        let packet = &buffer[..size.min(2048)];
        // A bridge, a bond and what is below them see the same packet each. No two of them are the same: the
        // engines encrypt each of them again.
        if let Some((source, destination)) = ends(packet)
            && known.insert(packet.to_vec())
        {
            heard.count(source, destination, &own);
        }
    }
    let rise = |now: u64, before: u64| now.saturating_sub(before);
    heard.delivered = delivered().zip(before).map(|(now, before)| rise(now, before));
    Ok(heard)
}

impl Heard {
    fn count(&mut self, source: IpAddr, destination: IpAddr, own: &BTreeSet<IpAddr>) {
        if own.contains(&destination) && !own.contains(&source) {
            *self.incoming.entry(source).or_default() += 1;
        } else if own.contains(&source) && !own.contains(&destination) {
            *self.outgoing.entry(destination).or_default() += 1;
        }
    }
}

fn delivered() -> Option<u64> {
    let text = host::file::read(Path::new(counters::SNMP)).ok().flatten()?;
    let six = host::file::read(Path::new(counters::SNMP6)).ok().flatten().unwrap_or_default();
    Counters::udp_in(&text, &six)
}

/// Source and destination of a packet, where it is one of the gossip.
pub(crate) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (source, destination, protocol, header) = watch::ends(packet)?;
    let port = u16::from_be_bytes([*packet.get(header + 2)?, *packet.get(header + 3)?]);
    (protocol == UDP && port == PORT_OF_GOSSIP).then_some((source, destination))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_the_gossip_are_counted_by_their_way() {
        let packet = |to: u8, port: [u8; 2]| {
            let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 77, 10, 1, 10, 77, 10, to];
            packet.extend_from_slice(&[0x1f, 0x0a, port[0], port[1], 0, 0, 0, 0]);
            packet
        };
        let (one, two): (IpAddr, IpAddr) = ([10, 77, 10, 1].into(), [10, 77, 10, 2].into());
        // 7946 and 4789.
        assert_eq!(ends(&packet(2, [0x1f, 0x0a])), Some((one, two)));
        assert_eq!(ends(&packet(2, [0x12, 0xb5])), None);
        assert_eq!(ends(&packet(2, [0x1f, 0x0a])[..22]), None);
        let mut heard = Heard::default();
        heard.count(one, two, &BTreeSet::from([two]));
        heard.count(two, one, &BTreeSet::from([two]));
        heard.count(two, two, &BTreeSet::from([two]));
        let counts = (heard.incoming.into_iter().collect(), heard.outgoing.into_iter().collect());
        assert_eq!(counts, (vec![(one, 1)], vec![(one, 1)]));
    }
}
