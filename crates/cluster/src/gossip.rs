//! Whether 7946/udp, by which the engines of a swarm tell each other where containers are, passes in each
//! direction. Engines fall back to TCP for a part of it, so that a block shows late, and elsewhere: as a
//! container that some engine does not know yet.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use diagnostic::Fix;
use docker::engine::Engine;
use docker::fan_out;

use crate::fixes;
use crate::flow::gossip::Heard;
use crate::flow::{Answer, PORT_OF_GOSSIP, Task};
use crate::plan::{ClusterPlan, Node};
use crate::probe::Probe;
use crate::problem::{Problem, Step};
use crate::worker::bundle::Bundle;

const STEP: Step = Step::Verify;

/// How long it is listened to: each engine asks one other every second, and is answered.
const LISTEN_SECONDS: f64 = 8.0;
/// The longest that listening may take.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(20);
/// Packets without which nothing is concluded.
const PACKETS_MIN: u32 = 4;

/// A direction in which the gossip does not pass; nodes by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// It reaches the machine, and no program there.
    AtReceiver { from: Vec<usize>, by: usize, packets: u32, delivered: u64 },
    /// It leaves one machine and does not reach the other.
    OnTheWay { from: usize, to: usize, packets: u32 },
}

/// [`blocked`], from machines in which nobody looks yet.
pub(crate) async fn between(plan: &ClusterPlan, bundle: &Bundle, nodes: &[(&Node, &Engine)]) -> Vec<Problem> {
    let started = nodes.iter().map(|(node, engine)| Probe::start(plan, node, engine, "host", bundle));
    let probes: Vec<Option<Probe<'_>>> = fan_out(started).await.into_iter().map(Result::ok).collect();
    let hosts: Vec<Option<&Probe<'_>>> = probes.iter().map(Option::as_ref).collect();
    let nodes: Vec<&Node> = nodes.iter().map(|(node, _)| *node).collect();
    let blocked = blocked(&nodes, &hosts).await;
    fan_out(probes.into_iter().flatten().map(Probe::end)).await;
    blocked
}

/// The directions between the nodes of a swarm in which its gossip is blocked, as far as the machines of
/// `hosts` see it. Where the overlay carries data meanwhile, less is seen.
pub(crate) async fn blocked(nodes: &[&Node], hosts: &[Option<&Probe<'_>>]) -> Vec<Problem> {
    let first = blocks(&heard(hosts).await);
    if first.is_empty() {
        return Vec::new();
    }
    // An engine that was not given the processor for seconds looks the same, once.
    let again = heard(hosts).await;
    let both = blocks(&again).into_iter().filter(|block| first.iter().any(|other| other.is_same(block)));
    both.map(|block| problem(nodes, &block, &again)).collect()
}

async fn heard(hosts: &[Option<&Probe<'_>>]) -> Vec<OfMachine> {
    fan_out(hosts.iter().map(|host| async move {
        let host = (*host)?;
        let listened = host.session().ask_custom(&Task::Gossip { seconds: LISTEN_SECONDS }, LISTEN_TIMEOUT);
        let (listened, interfaces) = tokio::join!(listened, host.interfaces());
        let own = interfaces.ok()?.into_iter().flat_map(|one| one.addresses).map(|(address, _)| address);
        match listened {
            Ok(Answer::Heard(heard)) => Some((heard, own.collect())),
            _ => None,
        }
    }))
    .await
}

impl Block {
    /// Whether it is the same direction, whatever was counted.
    fn is_same(&self, other: &Block) -> bool {
        let nodes = |block: &Block| match block {
            Block::AtReceiver { from, by, .. } => (from.clone(), *by, false),
            Block::OnTheWay { from, to, .. } => (vec![*from], *to, true),
        };
        nodes(self) == nodes(other)
    }
}

type OfMachine = Option<(Heard, Vec<IpAddr>)>;

fn blocks(heard: &[OfMachine]) -> Vec<Block> {
    let mut owners: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    for (index, one) in heard.iter().enumerate() {
        for address in one.iter().flat_map(|(_, own)| own) {
            owners.entry(*address).or_default().push(index);
        }
    }
    // Every machine has 127.0.0.1, and most have the same address of docker0.
    let owner = |address: &IpAddr| match owners.get(address).map(Vec::as_slice) {
        Some([one]) => Some(*one),
        _ => None,
    };
    let mut blocks = Vec::new();
    for (index, one) in heard.iter().enumerate() {
        let Some((here, _)) = one else { continue };
        blocks.extend(at_receiver(index, here, owner));
        for (address, packets) in here.outgoing.iter().filter(|(_, packets)| **packets >= PACKETS_MIN) {
            let Some(to) = owner(address) else { continue };
            let there = heard[to].iter().flat_map(|(there, _)| &there.incoming);
            if !there.into_iter().any(|(from, _)| owner(from) == Some(index)) {
                blocks.push(Block::OnTheWay { from: index, to, packets: *packets });
            }
        }
    }
    blocks
}

/// A machine that gives its engine less than half of what reached its interfaces: all of the datagrams that
/// its kernel delivered, of whatever port, are fewer than that.
fn at_receiver(by: usize, here: &Heard, owner: impl Fn(&IpAddr) -> Option<usize>) -> Option<Block> {
    let packets: u32 = here.incoming.values().sum();
    let delivered = here.delivered?;
    let mut from: Vec<usize> = here.incoming.keys().filter_map(owner).collect();
    from.sort_unstable();
    from.dedup();
    let dropped = packets >= PACKETS_MIN && delivered < u64::from(packets / 2) && !from.is_empty();
    dropped.then_some(Block::AtReceiver { from, by, packets, delivered })
}

/// Whether what `from` sends reaches a program of `to`, as far as both were heard.
fn passes(heard: &[OfMachine], from: usize, to: usize) -> bool {
    let (Some((_, sender)), Some((receiver, _))) = (&heard[from], &heard[to]) else { return false };
    let arrived: u32 =
        receiver.incoming.iter().filter(|(from, _)| sender.contains(from)).map(|(_, packets)| packets).sum();
    arrived > 0 && receiver.delivered.is_some_and(|delivered| delivered >= u64::from(arrived))
}

fn problem(nodes: &[&Node], block: &Block, heard: &[OfMachine]) -> Problem {
    let reverse = |from: usize, to: usize| match passes(heard, to, from) {
        true => format!("; from {} to {} they arrive", nodes[to].name, nodes[from].name),
        false => String::new(),
    };
    match block {
        Block::AtReceiver { from, by, packets, delivered } => {
            let reverse = if let [one] = from[..] { reverse(one, *by) } else { String::new() };
            let given = match delivered {
                0 => "none to a program".to_owned(),
                count => format!("at most {count} to a program"),
            };
            let counts = format!(
                "{packets} packets reached its network interface in {LISTEN_SECONDS} s, and the kernel gave \
                 {given}{reverse}"
            );
            dropped(&nodes[*by].name, &names(nodes, from), &counts)
        }
        Block::OnTheWay { from, to, packets } => {
            let (a, b) = (nodes[*from], nodes[*to]);
            let counts = format!(
                "{packets} packets left {} in {LISTEN_SECONDS} s, and none reached the network interface of \
                 {}{}",
                a.name,
                b.name,
                reverse(*from, *to)
            );
            on_the_way(a, b, &counts)
        }
    }
}

/// What the port is for.
const PURPOSE: &str = "which Docker engines use to exchange the addresses of containers";

fn dropped(by: &str, from: &str, counts: &str) -> Problem {
    let message = format!("{by} drops incoming {PORT_OF_GOSSIP}/udp from {from}, {PURPOSE}: {counts}");
    Problem::of(STEP, by, message)
        .fix(fixes::show_rules(format!("Find the rule that drops it, on {by}:"), "INPUT"))
        .fix(fixes::resume())
}

fn on_the_way(from: &Node, to: &Node, counts: &str) -> Problem {
    let (port, a, b) = (format!("{PORT_OF_GOSSIP}/udp"), &from.name, &to.name);
    let message = format!("{port} from {a} to {b}, {PURPOSE}, is dropped between the machines: {counts}");
    Problem::of(STEP, b, message)
        .fix(Fix::manual(format!(
            "Open {port} from {} to {} in the provider's security group and in the firewalls between them",
            from.address, to.address
        )))
        .fix(Fix::run(format!("Confirm on {b}:"), format!("tcpdump -ni any udp port {PORT_OF_GOSSIP}")))
}

fn names(nodes: &[&Node], of: &[usize]) -> String {
    of.iter().map(|index| nodes[*index].name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::two_nodes;

    fn address(last: u8) -> IpAddr {
        [10, 77, 10, last].into()
    }

    /// What machine `number` heard: packets from the other one, packets to it, and what its kernel delivered.
    fn machine(number: u8, incoming: u32, outgoing: u32, delivered: u64) -> OfMachine {
        let other = address(3 - number);
        let of = |count: u32| BTreeMap::from([(other, count)]).into_iter().filter(|(_, c)| *c > 0).collect();
        let heard = Heard { incoming: of(incoming), outgoing: of(outgoing), delivered: Some(delivered) };
        Some((heard, vec![[127, 0, 0, 1].into(), address(number), [172, 17, 0, 1].into()]))
    }

    fn messages(heard: &[OfMachine]) -> Vec<String> {
        let plan = two_nodes("");
        let nodes: Vec<&Node> = plan.nodes.iter().collect();
        blocks(heard).iter().map(|block| problem(&nodes, block, heard).message).collect()
    }

    #[test]
    fn a_block_is_named_with_its_direction() {
        let dropped = messages(&[machine(1, 16, 8, 16), machine(2, 8, 16, 0)]);
        assert_eq!(dropped.len(), 1);
        assert!(
            dropped[0].starts_with("node2 drops incoming 7946/udp from node1, which Docker engines use"),
            "{dropped:?}"
        );
        assert!(
            dropped[0].ends_with("gave none to a program; from node2 to node1 they arrive"),
            "{dropped:?}"
        );
        let lost = messages(&[machine(1, 0, 8, 0), machine(2, 8, 8, 8)]);
        assert_eq!(lost.len(), 1);
        assert!(lost[0].starts_with("7946/udp from node2 to node1, which Docker engines use"), "{lost:?}");
        assert!(lost[0].ends_with("of node1; from node1 to node2 they arrive"), "{lost:?}");
    }

    #[test]
    fn nothing_is_concluded_from_few_packets_or_where_others_are_delivered_too() {
        assert!(messages(&[machine(1, 16, 16, 16), machine(2, 16, 16, 16)]).is_empty());
        // The kernel delivered datagrams of other ports: whether these were among them is not known.
        assert!(messages(&[machine(1, 16, 8, 16), machine(2, 8, 16, 4)]).is_empty());
        assert!(messages(&[machine(1, 3, 3, 3), machine(2, 3, 3, 0)]).is_empty());
        assert!(messages(&[machine(1, 0, 8, 0), None]).is_empty());
    }
}
