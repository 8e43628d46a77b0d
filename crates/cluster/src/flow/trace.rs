//! How far the packets of one container get on their way to another: out of its machine, into the other one,
//! into the other container. Where they stop is where they are blocked.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use docker::fan_out;

use super::measure::{self, Peer};
use super::rate::Way;
use super::{Answer, Packet, Task};
use crate::probe::Probe;

/// Datagrams of each direction.
const COUNT: u32 = 80;
/// How long machines watch, and how long before the first datagram. Longer the second time: on a busy machine
/// watching may begin late, and then it looks as if nothing had been sent or had arrived.
const WATCHES: [(f64, Duration); 2] = [(2.5, Duration::from_millis(500)), (6.0, Duration::from_millis(2500))];
/// The longest that watching may take beyond its own time.
const WATCH_TIMEOUT: Duration = Duration::from_secs(6);

/// What was seen of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// What arrived in the container.
    pub way: Way,
    /// The machines that the sender's machine sent it to; `None` where nobody could watch.
    pub sent_to: Option<BTreeSet<IpAddr>>,
    /// Addresses that no node has, and that the sender's machine asked for meanwhile, without an answer.
    pub unanswered: BTreeSet<IpAddr>,
    /// Whether the receiver's machine got some; `None` where nobody could watch.
    pub reached: Option<bool>,
    /// Who answered that it was rejected.
    pub rejected_by: Option<IpAddr>,
    /// The UDP port of the overlay's packets, where one was seen.
    pub port: Option<u16>,
    /// Addresses of the sender's machine.
    pub sender: Vec<IpAddr>,
    /// Addresses of the receiver's machine.
    pub receiver: Vec<IpAddr>,
    /// The address of the receiving container in the overlay.
    pub container: IpAddr,
}

/// Where packets stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// They do not leave the sender's machine.
    NotSent,
    /// They do not leave the sender's machine, whose ARP requests for a machine that is not a
    /// node get no answer.
    NotResolved(IpAddr),
    /// They leave the sender's machine without VXLAN, addressed to the container itself: the sending
    /// container has no working interface or route in the overlay, and uses its default route.
    OutsideOverlay,
    /// They are sent to a machine that is not the receiver's.
    Elsewhere(IpAddr),
    /// They leave the sender's machine and do not reach the receiver's.
    OnTheWay,
    /// A machine answers that it rejects them.
    Rejected(IpAddr),
    /// They reach the receiver's machine, and not its container.
    AtReceiver,
}

impl Trace {
    /// Where the packets stop; `None` where they arrive, or that was not seen.
    pub fn stop(&self) -> Option<Stop> {
        if !self.way.is_blocked() {
            return None;
        }
        // A machine whose ARP requests get no answer answers its own packets with an ICMP error.
        let own = |by: &IpAddr| self.sender.contains(by) && !self.unanswered.is_empty();
        if let Some(by) = self.rejected_by.filter(|by| !own(by)) {
            return Some(Stop::Rejected(by));
        }
        let sent_to = self.sent_to.as_ref()?;
        let Some(first) = sent_to.first() else {
            return Some(self.unanswered.first().map_or(Stop::NotSent, |asked| Stop::NotResolved(*asked)));
        };
        if sent_to.contains(&self.container) {
            return Some(Stop::OutsideOverlay);
        }
        if !self.receiver.is_empty() && !sent_to.iter().any(|to| self.receiver.contains(to)) {
            return Some(Stop::Elsewhere(*first));
        }
        match self.reached? {
            true => Some(Stop::AtReceiver),
            false => Some(Stop::OnTheWay),
        }
    }

    /// Whether another look may show more: the packets do not arrive, and were not seen as far as they should
    /// be.
    fn is_unsure(&self) -> bool {
        self.way.is_blocked() && !matches!(self.stop(), Some(Stop::AtReceiver | Stop::Rejected(_)))
    }

    /// Adds what was seen of the same direction another time: what was seen once, is so.
    fn add(&mut self, more: Trace) {
        self.way.add(&more.way);
        self.sent_to = match (self.sent_to.take(), more.sent_to) {
            (Some(mut one), Some(other)) => {
                one.extend(other);
                Some(one)
            }
            (one, other) => one.or(other),
        };
        self.unanswered.extend(more.unanswered);
        self.reached = match (self.reached, more.reached) {
            (Some(one), Some(other)) => Some(one || other),
            (one, other) => one.or(other),
        };
        self.rejected_by = self.rejected_by.or(more.rejected_by);
        self.port = self.port.or(more.port);
        if self.sender.is_empty() {
            self.sender = more.sender;
        }
        if self.receiver.is_empty() {
            self.receiver = more.receiver;
        }
    }

    /// Whether what the other direction shows may also be what drops these at the receiver: VXLAN drops what
    /// comes from another machine than its own entry for the sender names, and with such an entry it sends
    /// nothing to that machine either; a container without an interface in the overlay receives nothing.
    /// Where nobody saw how far the other direction gets, it may.
    pub fn may_follow_from(&self, reverse: Option<&Trace>) -> bool {
        let unseen = reverse.is_some_and(|reverse| !reverse.arrives() && reverse.stop().is_none());
        let reverse = reverse.and_then(Trace::stop);
        self.stop() == Some(Stop::AtReceiver)
            && (unseen
                || matches!(
                    reverse,
                    Some(Stop::NotSent | Stop::NotResolved(_) | Stop::Elsewhere(_) | Stop::OutsideOverlay)
                ))
    }

    /// Whether datagrams arrive, though not all of them perhaps.
    pub fn arrives(&self) -> bool {
        !self.way.is_blocked()
    }
}

/// Sends in each direction while the machines watch; again where that leaves open how far packets get. Empty
/// where the containers cannot do it; `watched`: whether a packet of the overlay shows what it carries.
pub async fn traces(
    peers: &[Peer<'_>],
    hosts: &[Option<&Probe<'_>>],
    directions: &[(usize, usize)],
    watched: bool,
) -> Vec<Trace> {
    let [first, second] = WATCHES;
    let mut traces = once(peers, hosts, directions, watched, first).await;
    let unsure = |(from, to): &(usize, usize)| {
        let known = traces.iter().find(|trace| (trace.way.from, trace.way.to) == (*from, *to));
        known.is_none_or(Trace::is_unsure)
    };
    let again: Vec<(usize, usize)> = directions.iter().copied().filter(unsure).collect();
    if again.is_empty() {
        return traces;
    }
    for more in once(peers, hosts, &again, watched, second).await {
        match traces.iter_mut().find(|one| (one.way.from, one.way.to) == (more.way.from, more.way.to)) {
            Some(one) => one.add(more),
            None => traces.push(more),
        }
    }
    traces
}

async fn once(
    peers: &[Peer<'_>],
    hosts: &[Option<&Probe<'_>>],
    directions: &[(usize, usize)],
    watched: bool,
    (seconds, lead): (f64, Duration),
) -> Vec<Trace> {
    let run = measure::run();
    let watch = fan_out(hosts.iter().map(|host| {
        let run = run.clone();
        async move {
            let task = Task::Watch { run, seconds };
            let limit = WATCH_TIMEOUT + Duration::from_secs_f64(seconds);
            match host.filter(|_| watched)?.session().ask_custom(&task, limit).await {
                Ok(Answer::Watched { packets, unanswered }) => Some((packets, unanswered)),
                _ => None,
            }
        }
    }));
    let send = async {
        tokio::time::sleep(lead).await;
        measure::once(peers, directions, COUNT, &run).await
    };
    let (observed, ways, addresses) = tokio::join!(watch, send, addresses(hosts));
    let of = |way: Way| {
        let (from, to) = (way.from, way.to);
        let flow = measure::flow(&run, (from, to));
        let receiver = addresses[to].clone().unwrap_or_default();
        let saw = |node: usize| observed[node].as_ref().map(|(packets, _)| &packets[..]);
        let mut trace = trace(way, &flow, (saw(from), saw(to)), (receiver, peers[to].address));
        let asked = observed[from].as_ref().map_or(&[][..], |(_, unanswered)| unanswered);
        trace.unanswered = strangers(asked, addresses[from].as_deref().unwrap_or_default(), &addresses);
        trace.sender = addresses[from].clone().unwrap_or_default();
        trace
    };
    ways.unwrap_or_default().into_iter().map(of).collect()
}

/// All addresses of each machine; `None` where nobody can look.
async fn addresses(hosts: &[Option<&Probe<'_>>]) -> Vec<Option<Vec<IpAddr>>> {
    fan_out(hosts.iter().map(|host| async move {
        let interfaces = (*host)?.interfaces().await.ok()?;
        Some(interfaces.into_iter().flat_map(|one| one.addresses).map(|(own, _)| own).collect())
    }))
    .await
}

/// Addresses that a machine with the addresses `own` asked for without an answer, and that no node has.
fn strangers(asked: &[(IpAddr, IpAddr)], own: &[IpAddr], nodes: &[Option<Vec<IpAddr>>]) -> BTreeSet<IpAddr> {
    // Where the addresses of a node are unknown, the address may be its own.
    if nodes.iter().any(Option::is_none) {
        return BTreeSet::new();
    }
    let known = |address: &IpAddr| nodes.iter().flatten().flatten().any(|node| node == address);
    let of_own = asked.iter().filter(|(asker, target)| own.contains(asker) && !known(target));
    of_own.map(|(_, target)| *target).collect()
}

fn trace(
    way: Way,
    flow: &str,
    (sender, receiver_saw): (Option<&[Packet]>, Option<&[Packet]>),
    (receiver, container): (Vec<IpAddr>, IpAddr),
) -> Trace {
    let own = |packets: Option<&[Packet]>| -> Option<Vec<Packet>> {
        Some(packets?.iter().filter(|packet| packet.flow == flow).cloned().collect())
    };
    let (sent, got) = (own(sender), own(receiver_saw));
    let carries = |packet: &&Packet| packet.port.is_some();
    let rejected = sent.iter().flatten().chain(got.iter().flatten()).find(|packet| packet.port.is_none());
    Trace {
        rejected_by: rejected.map(|packet| packet.source),
        port: sent.iter().flatten().find_map(|packet| packet.port),
        sent_to: sent
            .as_ref()
            .map(|sent| sent.iter().filter(carries).map(|packet| packet.destination).collect()),
        unanswered: BTreeSet::new(),
        sender: Vec::new(),
        reached: got.as_ref().map(|got| got.iter().any(|packet| packet.port.is_some())),
        way,
        receiver,
        container,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "abcdefabcdefabcdefabcdef00000001";
    const CONTAINER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 6));

    fn way(arrived: u32) -> Way {
        Way { from: 0, to: 1, sent: 80, arrived, duplicates: 0, late: 0, refused: None }
    }

    fn packet(to: [u8; 4], port: Option<u16>) -> Packet {
        let (source, destination) = ([10, 77, 10, 1].into(), to.into());
        Packet { flow: FLOW.into(), source, destination, port }
    }

    fn stop(arrived: u32, sent: Option<&[Packet]>, got: Option<&[Packet]>) -> Option<Stop> {
        trace(way(arrived), FLOW, (sent, got), (vec![[10, 77, 10, 2].into()], CONTAINER)).stop()
    }

    #[test]
    fn locates_a_block_after_the_last_observed_packet() {
        let vxlan = [packet([10, 77, 10, 2], Some(4789))];
        assert_eq!(stop(0, Some(&[]), Some(&[])), Some(Stop::NotSent));
        assert_eq!(stop(0, Some(&vxlan), Some(&[])), Some(Stop::OnTheWay));
        assert_eq!(stop(0, Some(&vxlan), Some(&vxlan)), Some(Stop::AtReceiver));
        let wrong = [packet([10, 77, 10, 99], Some(4789))];
        assert_eq!(stop(0, Some(&wrong), Some(&[])), Some(Stop::Elsewhere([10, 77, 10, 99].into())));
        // The ICMP error comes from the receiver.
        let error = Packet { source: [10, 77, 10, 2].into(), ..packet([10, 77, 10, 1], None) };
        let sent = [vxlan[0].clone(), error];
        assert_eq!(stop(0, Some(&sent), Some(&vxlan)), Some(Stop::Rejected([10, 77, 10, 2].into())));
    }

    #[test]
    fn what_a_second_look_sees_counts() {
        let vxlan = [packet([10, 77, 10, 2], Some(4789))];
        let of = |sent: Option<&[Packet]>, got: Option<&[Packet]>| {
            trace(way(0), FLOW, (sent, got), (vec![[10, 77, 10, 2].into()], CONTAINER))
        };
        // The machines began to watch too late, or not at all.
        for mut late in [of(Some(&[]), Some(&[])), of(Some(&vxlan), Some(&[])), of(None, Some(&vxlan))] {
            assert!(late.is_unsure(), "{late:?}");
            late.add(of(Some(&vxlan), Some(&vxlan)));
            assert_eq!(late.stop(), Some(Stop::AtReceiver));
            assert!(!late.is_unsure());
        }
        let mut nothing = of(Some(&[]), Some(&[]));
        nothing.add(of(Some(&[]), Some(&[])));
        assert_eq!(nothing.stop(), Some(Stop::NotSent));
        let arrives = trace(way(80), FLOW, (Some(&[]), Some(&[])), (Vec::new(), CONTAINER));
        assert!(!arrives.is_unsure());
    }

    #[test]
    fn stale_overlay_entry_is_not_reported_as_a_firewall() {
        let vxlan = [packet([10, 77, 10, 2], Some(4789))];
        let of = |arrived, sent: &[Packet], got: &[Packet]| {
            trace(way(arrived), FLOW, (Some(sent), Some(got)), (vec![[10, 77, 10, 2].into()], CONTAINER))
        };
        let dropped = of(0, &vxlan, &vxlan);
        assert!(dropped.may_follow_from(Some(&of(0, &[], &[]))));
        assert!(dropped.may_follow_from(Some(&of(0, &[packet([10, 77, 10, 99], Some(4789))], &[]))));
        // The sender's interface in the overlay is down: its packets leave bare, by the default route.
        let bare = of(0, &[packet([10, 0, 1, 6], Some(40000))], &[]);
        assert_eq!(bare.stop(), Some(Stop::OutsideOverlay));
        assert!(dropped.may_follow_from(Some(&bare)));
        // What goes the other way shows that the entry is right.
        assert!(!dropped.may_follow_from(Some(&of(80, &vxlan, &vxlan))));
        assert!(!dropped.may_follow_from(Some(&of(0, &vxlan, &vxlan))));
        assert!(!of(0, &vxlan, &[]).may_follow_from(Some(&of(0, &[], &[]))));
    }

    #[test]
    fn the_senders_own_icmp_error_is_no_firewall_where_nobody_answered_its_arp() {
        let (own, stranger) = (IpAddr::from([10, 77, 10, 1]), IpAddr::from([10, 77, 10, 99]));
        let error = [packet([10, 77, 10, 1], None)];
        let of = |unanswered: &[IpAddr]| {
            let seen = (Some(&error[..]), Some(&[][..]));
            let trace = trace(way(0), FLOW, seen, (vec![[10, 77, 10, 2].into()], CONTAINER));
            Trace { unanswered: unanswered.iter().copied().collect(), sender: vec![own], ..trace }
        };
        // A REJECT of its own firewall says so without asking.
        assert_eq!(of(&[stranger]).stop(), Some(Stop::NotResolved(stranger)));
        assert_eq!(of(&[]).stop(), Some(Stop::Rejected(own)));
    }

    #[test]
    fn an_address_that_no_node_has_is_asked_for_in_vain() {
        let address = |last: u8| IpAddr::from([10, 77, 10, last]);
        let (own, nodes) = ([address(1)], [Some(vec![address(1)]), Some(vec![address(2)])]);
        let asked = [(address(1), address(2)), (address(1), address(99)), (address(3), address(98))];
        let found = strangers(&asked, &own, &nodes);
        assert_eq!(found, BTreeSet::from([address(99)]));
        assert!(strangers(&asked, &own, &[nodes[0].clone(), None]).is_empty());
        let of = |arrived: u32, sent: &[Packet]| {
            let seen = (Some(sent), Some(&[][..]));
            let trace = trace(way(arrived), FLOW, seen, (vec![address(2)], CONTAINER));
            Trace { unanswered: found.clone(), ..trace }
        };
        assert_eq!(of(0, &[]).stop(), Some(Stop::NotResolved(address(99))));
        assert_eq!(of(80, &[]).stop(), None);
        // Whoever is asked for, these packets were sent.
        assert_eq!(of(0, &[packet([10, 77, 10, 2], Some(4789))]).stop(), Some(Stop::OnTheWay));
        let sent = [packet([10, 77, 10, 2], Some(4789))];
        let dropped = trace(way(0), FLOW, (Some(&sent), Some(&sent)), (vec![address(2)], CONTAINER));
        let unseen = trace(way(0), FLOW, (None, None), (vec![address(2)], CONTAINER));
        assert_eq!((dropped.stop(), unseen.stop()), (Some(Stop::AtReceiver), None));
        assert!(dropped.may_follow_from(Some(&unseen)) && !dropped.may_follow_from(None));
        let mut twice = trace(way(0), FLOW, (Some(&[]), Some(&[])), (vec![address(2)], CONTAINER));
        twice.add(of(0, &[]));
        assert_eq!(twice.stop(), Some(Stop::NotResolved(address(99))));
    }

    #[test]
    fn missing_captures_give_no_location() {
        let vxlan = [packet([10, 77, 10, 2], Some(4789))];
        assert_eq!(stop(0, None, Some(&vxlan)), None);
        assert_eq!(stop(0, Some(&vxlan), None), None);
        assert_eq!(stop(1, Some(&vxlan), Some(&vxlan)), None);
        // Another measurement's.
        let other = Packet { flow: "f".repeat(32), ..vxlan[0].clone() };
        assert_eq!(stop(0, Some(&[other]), Some(&[])), Some(Stop::NotSent));
    }
}
