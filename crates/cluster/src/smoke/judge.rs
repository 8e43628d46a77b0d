//! What the numbers of a run in which everything held mean: fast enough, or slow, and why.

use super::bandwidth::{median, size};
use super::noise::{Interval, Packets};
use super::outcome::{Outcome, Verdict};
use super::packets;
use super::repeated::{Doubts, spread, spreads};
use catalog::Catalog;
use catalog::expected_bandwidth::Kind;

/// The part of what the path carries that the ring must reach: below it something other than the network is
/// the limit. Measured on two cores, where the ranks share the processors with the kernel's side of the
/// sockets (docs/measurements/smoke.md).
pub const TOLERANCE: f64 = 0.6;
/// From this size on bandwidth is judged, in bytes: small data is a matter of latency.
const JUDGED_FROM_BYTES: usize = 16 << 20;
/// Longest round trip in milliseconds; within one data center it takes less than one.
const ROUND_TRIP_LIMIT_MS: f64 = 5.0;
/// The part of TCP segments that may be sent again at a part of the path's rate, where no queue overflows.
const RETRANSMIT_LIMIT: f64 = 0.001;
/// The part of the other links' rate that a link must carry.
const LINK_PART: f64 = 0.5;
/// The part of a rank's own loopback rate up to which the network may be held responsible for what a path
/// carries: an overlay takes two to four times the processor time of the loopback.
const LOOPBACK_PART: f64 = 0.25;
/// The part of the time from which on a summing thread is the limit of its ring.
const BUSY_PART: f64 = 0.8;
/// How many times as long as the others a rank may take for its own part.
const STRAGGLER_RATIO: f64 = 2.5;
/// Bytes per second of gigabit Ethernet less its frames: 1398 bytes of data in 1538 on the wire under VXLAN
/// give 0.114 GB/s; a tenth less.
const GIGABIT_BYTES_PER_SECOND: f64 = 0.1e9;

/// The part of what the catalog's rows tell of many GiB that 512 MiB reach.
const SMALLER_SIZE_FACTOR: f64 = 0.8;
/// Below so many bytes an all-reduce of GPUs is a matter of latency, and nothing is demanded.
const NCCL_JUDGED_FROM_BYTES: usize = 256 << 20;

/// The least that NCCL should reach, in bytes per second, and of what: the GPUs of one node, else the
/// InfiniBand cards of one, whose ports have these rates in Gbit/s. `None` where nothing is known, or the
/// data is too small to tell.
pub fn expected_of_nccl(
    catalog: &Catalog,
    gpu: &str,
    nodes: usize,
    ranks: usize,
    rates: &[u32],
    bytes: usize,
) -> Option<(f64, String)> {
    if bytes < NCCL_JUDGED_FROM_BYTES || nodes == 0 {
        return None;
    }
    if nodes == 1 {
        let count = u32::try_from(ranks).ok()?;
        let row = catalog.expected_bandwidth().gpus(gpu, count)?;
        return Some((row.busbw * 1e9 * SMALLER_SIZE_FACTOR * row.tolerance, format!("{count} {}", row.gpu)));
    }
    let card = |rate: &u32| {
        let link = catalog.expected_bandwidth().link(Kind::Infiniband, *rate)?;
        Some(link.carries * 1e9 * link.tolerance?)
    };
    let cards: Vec<f64> = rates.iter().map(card).collect::<Option<_>>()?;
    // A rank can use no more cards than there are, and a node with fewer GPUs not all of them.
    let used = cards.len().min(ranks / nodes);
    (used > 0).then(|| {
        (
            cards[..used].iter().sum::<f64>() * SMALLER_SIZE_FACTOR,
            format!("{used} InfiniBand adapters per node"),
        )
    })
}

/// What is wrong, or worth knowing.
enum Found {
    /// Makes the run slow: why, and what to do.
    Slow(String, &'static str),
    /// Does not.
    Note(String),
}

/// What a first look makes doubtful: it is measured again before it is judged.
pub fn doubts(outcome: &Outcome) -> Doubts {
    Doubts {
        links: unlike(&outcome.links) || thin(outcome).is_some(),
        ring: beneath_path(outcome),
        loss: outcome.network.packets.iter().flatten().any(|sent| sent.part() > Some(RETRANSMIT_LIMIT)),
        own: longest_own(outcome),
    }
}

/// Everything held: right, but fast enough?
pub fn judge(outcome: &mut Outcome) {
    let found =
        [slow_link(outcome), resent(outcome), far(outcome), path(outcome), straggler(outcome), ring(outcome)];
    let (mut reasons, mut fixes) = (Vec::new(), Vec::new());
    let found = found.into_iter().flatten();
    let changed = packets::reasons(outcome).into_iter().map(|(says, fix)| Found::Slow(says, fix));
    for found in found.chain(changed) {
        match found {
            Found::Slow(says, fix) => {
                reasons.push(says);
                fixes.extend((!fix.is_empty()).then(|| fix.to_owned()));
            }
            Found::Note(says) => outcome.remarks.push(says),
        }
    }
    let speed = speed(outcome);
    outcome.verdict = if reasons.is_empty() { Verdict::Ok } else { Verdict::Slow };
    outcome.says = match reasons.is_empty() {
        true => format!("every element correct; {speed}"),
        false => format!("{speed}; {}", reasons.join("; ")),
    };
    outcome.fix.extend(fixes);
}

fn speed(outcome: &Outcome) -> String {
    let (Some(last), Some(expected)) = (outcome.results.last(), &outcome.expected) else {
        return "no bandwidth was measured".into();
    };
    let size = size(last.bytes);
    format!(
        "{} busbw at {size}, {:.0} % of the {} measured on the path",
        rate(last.bus),
        last.bus / expected.bus * 100.0,
        rate(expected.bus)
    )
}

/// `1.24 GB/s`, `3.1 MB/s`.
pub fn rate(bytes: f64) -> String {
    if bytes >= 1e8 { format!("{:.2} GB/s", bytes / 1e9) } else { format!("{:.1} MB/s", bytes / 1e6) }
}

/// Whether a link carries less than half of what the others do.
fn unlike(links: &[f64]) -> bool {
    links.iter().copied().fold(f64::INFINITY, f64::min) < median(links) * LINK_PART
}

/// The middle one.
fn middle(of: &[Interval]) -> Interval {
    let side = |side: fn(&Interval) -> f64| median(&of.iter().map(side).collect::<Vec<_>>());
    Interval { low: side(|one| one.low), high: side(|one| one.high) }
}

/// All but one.
fn others(of: &[Interval], but: usize) -> Vec<Interval> {
    of.iter().enumerate().filter(|(place, _)| *place != but).map(|(_, one)| *one).collect()
}

/// The slowest link of the repeated rounds: the rank that it goes to, what it carries alone, and what the
/// slower of its two ranks carries on the loopback.
fn slowest(outcome: &Outcome) -> Option<(usize, Interval, Interval)> {
    let repeated = &outcome.network.repeated;
    let (links, loopback) = spreads(&repeated.links).zip(spreads(&repeated.loopback))?;
    let (to, link) = links.iter().enumerate().min_by(|one, other| one.1.high.total_cmp(&other.1.high))?;
    let from = (to + links.len() - 1) % links.len();
    let ends = [loopback.get(from)?, loopback.get(to)?];
    let slower = ends.into_iter().min_by(|one, other| one.low.total_cmp(&other.low))?;
    Some((to, *link, *slower))
}

/// A link that carries less than half of what the others do, though its ranks carry more on the loopback.
fn slow_link(outcome: &Outcome) -> Option<Found> {
    let (to, link, loopback) = slowest(outcome)?;
    let links = spreads(&outcome.network.repeated.links)?;
    let other = middle(&others(&links, to));
    if !link.is_below(LINK_PART, other) || !link.is_below(LOOPBACK_PART, loopback) {
        return None;
    }
    let from = outcome.ranks.get((to + links.len() - 1) % links.len())?;
    let to = outcome.ranks.get(to)?;
    Some(Found::Slow(
        format!("the link from {from} to {to} carries {}, the other links {}", range(link), rate(other.low)),
        "Check speed, duplex, errors and drops of its port and cable on both nodes: `ethtool INTERFACE; ip \
            -s link`",
    ))
}

/// Segments that got lost: where no queue of the path overflows, the network loses them.
fn resent(outcome: &Outcome) -> Option<Found> {
    let repeated = &outcome.network.repeated;
    let part = |packets: &Packets| packets.part().unwrap_or_default();
    let (rank, paced) =
        repeated.paced.iter().enumerate().max_by(|one, other| part(one.1).total_cmp(&part(other.1)))?;
    let whom = outcome.ranks.get((rank + 1) % repeated.paced.len())?;
    let (who, pace) = (outcome.ranks.get(rank)?, rate(repeated.pace));
    let Interval { low, high } = paced.interval();
    let percent = |part: f64| part * 100.0;
    let says = format!(
        "{who} retransmitted {:.2} % of its packets to {whom} at {pace}, a fifth of what the path carries",
        percent(part(paced))
    );
    if low > RETRANSMIT_LIMIT {
        return Some(Found::Slow(
            format!("{says} ({:.2} to {:.2} %): the network loses packets", percent(low), percent(high)),
            "Read the error and drop counters on both nodes (possible causes: bad cable, duplex mismatch, \
                full switch buffer): `ip -s link; ethtool -S INTERFACE`",
        ));
    }
    Some(Found::Note(match part(paced) > RETRANSMIT_LIMIT {
        true => format!("{says}: too few of {} packets to call it loss", paced.sent),
        false => {
            let most = outcome.network.packets.iter().flatten().map(part).fold(0.0, f64::max);
            format!("{says}, and {:.2} % at full rate: full queues, no lossy link", percent(most))
        }
    }))
}

/// Nodes that are far from each other.
fn far(outcome: &Outcome) -> Option<Found> {
    let (from, to, milliseconds) =
        outcome.network.slowest_connect.filter(|(_, _, milliseconds)| *milliseconds > ROUND_TRIP_LIMIT_MS)?;
    let (from, to) = (outcome.ranks.get(from)?, outcome.ranks.get(to)?);
    Some(Found::Slow(
        format!(
            "a round trip from {from} to {to} takes {milliseconds:.1} ms; within one data center it takes \
                less than 1 ms"
        ),
        "Check that the nodes are in one data center, and the route between them: `ping NODE; traceroute \
            NODE`",
    ))
}

/// What a path carries less than it should: the least that it should carry in bytes per second, of what, and
/// what to do.
fn thin(outcome: &Outcome) -> Option<(f64, String, &'static str)> {
    let path = outcome.expected.as_ref()?.bus;
    if let Some(link) = outcome
        .network
        .speed
        .and_then(|speed| outcome.catalog.expected_bandwidth().link(Kind::Ethernet, speed / 1000))
    {
        let least = link.carries * 1e9 * link.tolerance.unwrap_or(0.0);
        return (path < least).then(|| {
            let carries = rate(link.carries * 1e9);
            (
                least,
                format!("but {} carries {carries}", link.name),
                "Read the error and pause counters, then check the MTU and other traffic on the link: \
                    `ethtool -S INTERFACE; envdoc explain overlay-mtu-too-large`",
            )
        });
    }
    (path < GIGABIT_BYTES_PER_SECOND).then(|| {
        (
            GIGABIT_BYTES_PER_SECOND,
            "less than gigabit Ethernet".into(),
            "Show the link speed on the machines (other possible causes: a bandwidth limit of the \
                provider, a tunnel): `ethtool INTERFACE`",
        )
    })
}

/// Less than the link's speed, or than gigabit Ethernet, whatever the link is.
fn path(outcome: &Outcome) -> Option<Found> {
    let (least, than, fix) = thin(outcome)?;
    let (_, link, loopback) = slowest(outcome)?;
    if link.high >= least {
        return None;
    }
    let carries = format!("the path carries {}, {than}", range(link));
    Some(match link.is_below(LOOPBACK_PART, loopback) {
        true => Found::Slow(carries, fix),
        false => Found::Note(format!(
            "cpu-bound: {carries}; a rank carries only {} over its own loopback at the same time, so the \
                processors may be the limit, and the speed of the network is unknown",
            range(loopback)
        )),
    })
}

/// The rank that took longest for its own part, how long, and how long the others took.
fn longest<T: Copy>(own: &[T], long: impl Fn(&T) -> f64) -> Option<(usize, T)> {
    own.iter().copied().enumerate().max_by(|one, other| long(&one.1).total_cmp(&long(&other.1)))
}

/// Whether a rank's own part took longer than that of the others at first sight.
fn longest_own(outcome: &Outcome) -> bool {
    let own = &outcome.network.own;
    let large = outcome.results.last().is_some_and(|last| last.bytes >= JUDGED_FROM_BYTES);
    longest(own, |own| *own).is_some_and(|(rank, longest)| {
        let others = own.iter().enumerate().filter(|(other, _)| *other != rank);
        large && longest > median(&others.map(|(_, own)| *own).collect::<Vec<_>>()) * STRAGGLER_RATIO
    })
}

/// A rank whose own part takes longer than that of the others: they all wait for it.
fn straggler(outcome: &Outcome) -> Option<Found> {
    let own = spreads(&outcome.network.repeated.own)?;
    let (rank, longest) = longest(&own, |own| own.low)?;
    let usual = middle(&others(&own, rank));
    usual.is_below(1.0 / STRAGGLER_RATIO, longest).then(|| {
        let name = outcome.ranks.get(rank).map_or("", String::as_str);
        Found::Slow(
            format!(
                "{name} takes {:.1} times as long as the others to write and check the same numbers: its \
                    CPU or memory is busy, limited or slow",
                (longest.low + longest.high) / (usual.low + usual.high)
            ),
            "Find what else runs on that machine, and the CPU limit of its container: `top; docker inspect \
                --format '{{.HostConfig.NanoCpus}}' NODE; envdoc check`",
        )
    })
}

/// Whether the ring was slower than its sockets at first sight.
fn beneath_path(outcome: &Outcome) -> bool {
    outcome.results.last().zip(outcome.expected.as_ref()).is_some_and(|(last, expected)| {
        last.bytes >= JUDGED_FROM_BYTES && last.bus < expected.bus * expected.tolerance
    })
}

/// The ring is slower than its sockets.
fn ring(outcome: &Outcome) -> Option<Found> {
    let repeated = &outcome.network.repeated;
    let (ring, path) = spread(&repeated.ring).zip(spread(&repeated.path))?;
    if !ring.is_below(TOLERANCE, path) {
        let doubtful = ring.low < TOLERANCE * path.high;
        return doubtful.then(|| {
            let (ring, path, rounds) = (range(ring), range(path), repeated.ring.len());
            Found::Note(format!(
                "in {rounds} repeated rounds the all-reduce carries {ring}, the path {path}: too wide a \
                    spread to call it slow"
            ))
        });
    }
    let reaches = format!("the all-reduce carries {}, the path {}", range(ring), range(path));
    let percent = median(&repeated.busy) * 100.0;
    Some(match percent / 100.0 {
        busy if busy >= BUSY_PART => Found::Note(format!(
            "cpu-bound: the network was not the limit: {reaches}, and a rank's summing thread ran or waited \
                for a processor {percent:.0} % of the time"
        )),
        busy if busy < BUSY_PART => Found::Slow(
            format!(
                "{reaches}, though no summing thread was busy for more than {percent:.0} % of the time: \
                    cause unknown"
            ),
            "",
        ),
        _ => Found::Note(format!(
            "{reaches}; whether the processors are the limit is unknown: the kernel \
            does not tell how long they were busy"
        )),
    })
}

/// `1.24 GB/s`, or `0.91 to 1.30 GB/s` where it varies by more than a tenth.
fn range(of: Interval) -> String {
    match of.high > of.low * 1.1 {
        true => format!("{} to {}", rate(of.low), rate(of.high)),
        false => rate(f64::midpoint(of.low, of.high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::outcome::{Expected, Measured};

    fn healthy() -> Outcome {
        let mut outcome = Outcome::new(
            catalog::testing::catalog(),
            ["node1", "node2", "node3"].map(str::to_owned).to_vec(),
        );
        outcome.expected = Some(expected(1.2e9));
        outcome.links = vec![1.2e9, 1.3e9, 1.25e9];
        outcome.network.packets = vec![sent(0), None, sent(20)];
        outcome.network.slowest_connect = Some((0, 1, 0.4));
        outcome.network.own = vec![0.1; 3];
        outcome.results =
            vec![Measured { bytes: 64 << 20, seconds: 0.07, algorithm: 0.9e9, bus: 1.1e9, wrong: 0 }];
        outcome
    }

    fn expected(bus: f64) -> Expected {
        Expected { bus, tolerance: TOLERANCE, from: String::new(), measured: true }
    }

    fn sent(resent: u64) -> Option<Packets> {
        Some(Packets { sent: 100_000, resent })
    }

    /// Seven rounds around these.
    fn rounds(of: &[f64]) -> Vec<Vec<f64>> {
        of.iter().map(|one| (0..7).map(|round| one * (1.0 + f64::from(round) / 100.0)).collect()).collect()
    }

    fn judged(change: impl Fn(&mut Outcome)) -> (Verdict, String, Vec<String>) {
        let mut outcome = healthy();
        change(&mut outcome);
        judge(&mut outcome);
        (outcome.verdict, outcome.says, outcome.remarks)
    }

    #[test]
    fn a_healthy_run_leaves_no_doubt_and_is_ok() {
        assert!(!doubts(&healthy()).any());
        let (verdict, says, remarks) = judged(|_| {});
        assert!(verdict == Verdict::Ok && remarks.is_empty(), "{says} {remarks:?}");
        assert!(says.contains("1.10 GB/s busbw at 64 MiB, 92 %"), "{says}");
    }

    /// A link between ranks whose loopback carries this much.
    fn links(outcome: &mut Outcome, links: &[f64], loopback: f64) {
        outcome.links = links.to_vec();
        outcome.expected = Some(expected(links.iter().copied().fold(f64::INFINITY, f64::min)));
        outcome.network.repeated.links = rounds(links);
        outcome.network.repeated.loopback = rounds(&[loopback; 3]);
    }

    #[test]
    fn each_fault_of_repeated_rounds_is_named() {
        type Fault = (fn(&mut Outcome), &'static str);
        let cases: [Fault; 6] = [
            (
                |outcome| {
                    outcome.network.speed = Some(25_000);
                    links(outcome, &[1.2e9; 3], 9e9);
                },
                "GB/s, but 25 Gbit/s Ethernet carries 2.94",
            ),
            (
                |outcome| outcome.network.repeated.own = rounds(&[0.1, 0.1, 0.31]),
                "node3 takes 3.1 times as long as the others",
            ),
            (|outcome| links(outcome, &[1.2e9, 1.2e9, 0.3e9], 2e9), "the link from node2 to node3 carries"),
            (
                |outcome| outcome.network.repeated.paced = vec![Packets { sent: 5000, resent: 55 }; 3],
                "retransmitted 1.10 %",
            ),
            (
                |outcome| outcome.network.slowest_connect = Some((2, 0, 50.3)),
                "from node3 to node1 takes 50.3 ms",
            ),
            (|outcome| links(outcome, &[1.2e6; 3], 2e9), "1.2 MB/s, less than gigabit"),
        ];
        for (change, says) in cases {
            let (verdict, told, _) = judged(change);
            assert!(verdict == Verdict::Slow && told.contains(says), "{told}");
        }
    }

    #[test]
    fn processors_that_are_the_limit_are_a_note_and_no_slow_network() {
        type Noise = (fn(&mut Outcome), &'static str);
        let cases: [Noise; 3] = [
            (
                |outcome| {
                    outcome.network.repeated.ring = vec![0.3e9; 7];
                    outcome.network.repeated.path = vec![1.2e9; 7];
                    outcome.network.repeated.busy = vec![0.97; 7];
                },
                "cpu-bound: the network was not the limit",
            ),
            (|outcome| links(outcome, &[0.09e9; 3], 0.2e9), "cpu-bound: the path carries"),
            (
                |outcome| {
                    outcome.network.packets[0] = sent(480);
                    outcome.network.repeated.paced = vec![Packets { sent: 9000, resent: 1 }; 3];
                },
                "0.48 % at full rate: full queues",
            ),
        ];
        for (change, says) in cases {
            let (verdict, told, remarks) = judged(change);
            assert!(verdict == Verdict::Ok && remarks.join("; ").contains(says), "{told} {remarks:?}");
        }
        let (verdict, says, _) = judged(|outcome| {
            outcome.network.repeated.ring = vec![0.3e9; 7];
            outcome.network.repeated.path = vec![1.2e9; 7];
            outcome.network.repeated.busy = vec![0.2; 7];
        });
        assert!(verdict == Verdict::Slow && says.contains("cause unknown"), "{says}");
    }

    #[test]
    fn what_only_one_round_shows_is_no_fault() {
        let (verdict, says, _) = judged(|outcome| {
            links(outcome, &[1.2e9, 1.3e9, 1.25e9], 2e9);
            outcome.network.repeated.links[2][3] = 1e6;
            outcome.network.repeated.own = rounds(&[0.1, 0.1, 0.31]);
            outcome.network.repeated.own[2][5] = 0.1;
        });
        assert_eq!(verdict, Verdict::Ok, "{says}");
    }
}
