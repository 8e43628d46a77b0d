//! What the numbers of a run in which everything held mean: fast enough, or slow, and why.

use super::bandwidth::{median, size};
use super::outcome::{Outcome, Verdict};
use super::packets;
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
/// The part of TCP segments that may be sent again.
const RETRANSMIT_LIMIT: f64 = 0.001;
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

/// Everything held: right, but fast enough?
pub fn judge(outcome: &mut Outcome) {
    let reasons: Vec<(String, &str)> =
        [slow_link(outcome), resent(outcome), far(outcome), thin(outcome), straggler(outcome), busy(outcome)]
            .into_iter()
            .flatten()
            .chain(packets::reasons(outcome))
            .collect();
    let speed = speed(outcome);
    outcome.verdict = if reasons.is_empty() { Verdict::Ok } else { Verdict::Slow };
    outcome.says = match reasons.is_empty() {
        true => format!("every element correct; {speed}"),
        false => {
            let says: Vec<_> = reasons.iter().map(|(says, _)| says.as_str()).collect();
            format!("{speed}; {}", says.join("; "))
        }
    };
    outcome.fix.extend(reasons.into_iter().map(|(_, fix)| fix.to_owned()).filter(|fix| !fix.is_empty()));
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
pub fn unlike(links: &[f64]) -> bool {
    links.iter().copied().fold(f64::INFINITY, f64::min) < median(links) / 2.0
}

/// A link that carries less than half of what the others do.
fn slow_link(outcome: &Outcome) -> Option<(String, &'static str)> {
    let alone = &outcome.network.alone;
    let links = if alone.is_empty() { &outcome.links } else { alone };
    if !unlike(links) {
        return None;
    }
    let (to, slowest) = links.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1))?;
    let others = median(links);
    let from = outcome.ranks.get((to + links.len() - 1) % links.len())?;
    Some({
        let (slowest, others) = (rate(*slowest), rate(others));
        let to = &outcome.ranks[to];
        (
            format!("the link from {from} to {to} carries {slowest}, the other links {others}"),
            "Check speed, duplex, errors and drops of its port and cable on both nodes: `ethtool \
                INTERFACE; ip -s link`",
        )
    })
}

/// Segments that got lost.
fn resent(outcome: &Outcome) -> Option<(String, &'static str)> {
    let resent = &outcome.network.resent;
    let (rank, part) = resent
        .iter()
        .enumerate()
        .filter_map(|(rank, part)| Some((rank, (*part)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    (part > RETRANSMIT_LIMIT).then(|| {
        let whom = outcome.ranks.get((rank + 1) % resent.len()).map_or("", String::as_str);
        let who = outcome.ranks.get(rank).map_or("", String::as_str);
        (
            format!(
                "{who} retransmitted {:.2} % of its packets to {whom}: the network loses packets",
                part * 100.0
            ),
            "Read the error and drop counters on both nodes (possible causes: bad cable, duplex mismatch, \
                full switch buffer): `ip -s link; ethtool -S INTERFACE`",
        )
    })
}

/// Nodes that are far from each other.
fn far(outcome: &Outcome) -> Option<(String, &'static str)> {
    let (from, to, milliseconds) =
        outcome.network.slowest_connect.filter(|(_, _, milliseconds)| *milliseconds > ROUND_TRIP_LIMIT_MS)?;
    let (from, to) = (outcome.ranks.get(from)?, outcome.ranks.get(to)?);
    Some((
        format!(
            "a round trip from {from} to {to} takes {milliseconds:.1} ms; within one data center it takes \
                less than 1 ms"
        ),
        "Check that the nodes are in one data center, and the route between them: `ping NODE; traceroute \
            NODE`",
    ))
}

/// Less than gigabit Ethernet, whatever the link is.
fn thin(outcome: &Outcome) -> Option<(String, &'static str)> {
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
                format!("the path carries {}, but {} carries {carries}", rate(path), link.name),
                "Read the error and pause counters, then check the MTU and other traffic on the link: \
                    `ethtool -S INTERFACE; envdoc explain overlay-mtu-too-large`",
            )
        });
    }
    (path < GIGABIT_BYTES_PER_SECOND).then(|| {
        (
            format!("the path carries {}, less than gigabit Ethernet", rate(path)),
            "Show the link speed on the machines (other possible causes: a bandwidth limit of the \
                provider, a tunnel): `ethtool INTERFACE`",
        )
    })
}

/// A rank whose own part takes longer than that of the others: they all wait for it.
fn straggler(outcome: &Outcome) -> Option<(String, &'static str)> {
    let own = &outcome.network.own;
    let (rank, longest) = own.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1))?;
    let others: Vec<f64> =
        own.iter().enumerate().filter(|(other, _)| *other != rank).map(|(_, own)| *own).collect();
    let usual = median(&others);
    let large = outcome.results.last().is_some_and(|last| last.bytes >= JUDGED_FROM_BYTES);
    (large && *longest > usual * STRAGGLER_RATIO).then(|| {
        let name = outcome.ranks.get(rank).map_or("", String::as_str);
        (
            format!(
                "{name} takes {:.1} times as long as the others to write and check the same numbers: its \
                    CPU or memory is busy or slow",
                longest / usual
            ),
            "Find what else runs on that machine: `top; cpupower frequency-info; envdoc check`",
        )
    })
}

/// The ring is slower than its sockets.
fn busy(outcome: &Outcome) -> Option<(String, &'static str)> {
    let (last, expected) = (outcome.results.last()?, outcome.expected.as_ref()?);
    (last.bytes >= JUDGED_FROM_BYTES && last.bus < expected.bus * expected.tolerance)
        .then(|| ("the CPUs are the bottleneck, not the network".into(), ""))
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
        outcome.expected =
            Some(Expected { bus: 1.2e9, tolerance: TOLERANCE, from: String::new(), measured: true });
        outcome.links = vec![1.2e9, 1.3e9, 1.25e9];
        outcome.network.resent = vec![Some(0.0), None, Some(0.0002)];
        outcome.network.slowest_connect = Some((0, 1, 0.4));
        outcome.results =
            vec![Measured { bytes: 64 << 20, seconds: 0.07, algorithm: 0.9e9, bus: 1.1e9, wrong: 0 }];
        outcome
    }

    fn judged(change: impl Fn(&mut Outcome)) -> (Verdict, String) {
        let mut outcome = healthy();
        change(&mut outcome);
        judge(&mut outcome);
        (outcome.verdict, outcome.says)
    }

    #[test]
    fn a_healthy_run_is_ok_and_each_fault_is_named() {
        let (verdict, says) = judged(|_| {});
        assert_eq!(verdict, Verdict::Ok, "{says}");
        assert!(says.contains("1.10 GB/s busbw at 64 MiB, 92 %"), "{says}");
        type Fault = (fn(&mut Outcome), &'static str);
        let cases: [Fault; 7] = [
            (
                |outcome| outcome.network.speed = Some(25_000),
                "the path carries 1.20 GB/s, but 25 Gbit/s Ethernet carries 2.94",
            ),
            (
                |outcome| outcome.network.own = vec![0.1, 0.1, 0.31],
                "node3 takes 3.1 times as long as the others",
            ),
            (|outcome| outcome.links[2] = 0.3e9, "the link from node2 to node3 carries 0.30 GB/s"),
            (|outcome| outcome.network.resent[1] = Some(0.011), "node2 retransmitted 1.10 %"),
            (
                |outcome| outcome.network.slowest_connect = Some((2, 0, 50.3)),
                "from node3 to node1 takes 50.3 ms",
            ),
            (
                |outcome| {
                    outcome.expected =
                        Some(Expected { bus: 1.2e6, tolerance: 0.6, from: String::new(), measured: true });
                },
                "1.2 MB/s, less than gigabit",
            ),
            (|outcome| outcome.results[0].bus = 0.5e9, "the CPUs are"),
        ];
        for (change, says) in cases {
            let (verdict, told) = judged(change);
            assert!(verdict == Verdict::Slow && told.contains(says), "{told}");
        }
        // What differs only while everything is under way is a matter of the processors.
        let (verdict, says) = judged(|outcome| {
            outcome.links[2] = 0.3e9;
            outcome.network.alone = vec![2e9, 2.1e9, 1.9e9];
        });
        assert_eq!(verdict, Verdict::Ok, "{says}");
    }
}
