//! What the numbers of a run in which everything held mean: fast enough, or slow, and why.

use diagnostic::Fix;
use diagnostic::units::rate;

use super::bandwidth::{median, size};
use super::criteria::{JUDGED_FROM_BYTES, RETRANSMIT_LIMIT, ROUNDS_MIN, TOLERANCE, judged_from};
use super::found::{Found, less_load};
use super::noise::{Interval, Packets, range};
use super::outcome::{Outcome, Verdict};
use super::packets;
use super::phase::PhaseId;
use super::processor::Usage;
use super::repeated::spread;
use super::slow_link::{path, slow_link};
use super::straggler::straggler;
use super::throttled;
use super::unjudged::{unmeasured, unrepeated};

/// Longest round trip in milliseconds; within one data center it takes less than one.
const ROUND_TRIP_LIMIT_MS: f64 = 5.0;
/// The part of the time from which on a summing thread is the limit of its ring.
const BUSY_PART: f64 = 0.8;
/// Everything held: right, but fast enough?
pub fn judge(outcome: &mut Outcome) {
    let (mut reasons, mut unknown, mut fixes) = (Vec::new(), unrepeated(outcome), Vec::new());
    let mut unmeasured_fixes: Vec<Fix> = (!unknown.is_empty()).then(less_load).into_iter().collect();
    if let Some((message, fix)) = unmeasured(outcome) {
        unknown.push(message);
        unmeasured_fixes.push(fix);
    }
    let limits = throttled::judge(outcome);
    let found = found(outcome, !limits.is_empty());
    for (message, fix) in limits {
        outcome.slow.push(PhaseId::Bandwidth);
        reasons.push(message);
        fixes.extend(fix);
    }
    for (phase, found) in found {
        let fix = match found {
            Found::Slow(message, fix) => {
                outcome.slow.push(phase);
                reasons.push(message);
                fix
            }
            Found::Unknown(message, fix) => {
                unknown.push(message);
                fix
            }
            Found::Note(message) => {
                outcome.remarks.push(message);
                None
            }
        };
        fixes.extend(fix);
    }
    fixes.extend(unmeasured_fixes);
    let speed = speed(outcome);
    (outcome.verdict, outcome.message) = match (reasons.is_empty(), unknown.is_empty()) {
        (true, true) => (Verdict::Ok, format!("every element correct; {speed}")),
        (true, false) => {
            let message = format!("every element correct; {speed}; not judged: {}", unknown.join("; "));
            (Verdict::Unknown, message)
        }
        (false, _) => {
            outcome.remarks.extend(unknown.into_iter().map(|message| format!("not judged: {message}")));
            (Verdict::Slow, format!("{speed}; {}", reasons.join("; ")))
        }
    };
    for fix in fixes {
        if !outcome.fixes.contains(&fix) {
            outcome.fixes.push(fix);
        }
    }
}

/// A run that ended in the phase `repeat`: what was seen before counts, and why it ended is not forgotten.
pub fn judge_interrupted(outcome: &mut Outcome) {
    let (verdict, message, fixes) =
        (outcome.verdict, outcome.message.clone(), std::mem::take(&mut outcome.fixes));
    judge(outcome);
    match (outcome.verdict, verdict) {
        // The stall alone may be the machine's; what makes the run slow was seen in rounds that ended.
        (Verdict::Slow, Verdict::Unknown) => outcome.remarks.push(message),
        (Verdict::Slow, _) => {
            outcome.message = format!("{message}; {}", outcome.message);
            outcome.verdict = verdict;
        }
        _ => (outcome.verdict, outcome.message) = (verdict, message),
    }
    outcome.fixes.splice(..0, fixes);
}

/// What the measurements show, and of which phase. Rates of a rank that its CPU limit throttles are those of
/// the limit.
fn found(outcome: &Outcome, is_throttled: bool) -> Vec<(PhaseId, Found)> {
    let hidden = |found: Found| match found {
        Found::Slow(message, _) if is_throttled => Found::Unknown(message, None),
        found => found,
    };
    let rates = [
        (PhaseId::Path, slow_link(outcome)),
        (PhaseId::Path, path(outcome)),
        (PhaseId::Bandwidth, straggler(outcome)),
        (PhaseId::Bandwidth, ring(outcome)),
    ];
    let rates = rates.map(|(phase, found)| (phase, found.map(hidden)));
    let network = [(PhaseId::Path, resent(outcome)), (PhaseId::Tcp, far(outcome))];
    let changed = packets::reasons(outcome).into_iter();
    let changed = changed.map(|(message, fix)| (PhaseId::Path, Found::Slow(message, Some(fix))));
    let found = rates.into_iter().chain(network);
    found.filter_map(|(phase, found)| Some((phase, found?))).chain(changed).collect()
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
    let message = format!(
        "{who} retransmitted {:.2} % of its packets to {whom} at {pace}, a fifth of what the path carries",
        percent(part(paced))
    );
    if low > RETRANSMIT_LIMIT {
        return Some(Found::Slow(
            format!("{message} ({:.2} to {:.2} %): the network loses packets", percent(low), percent(high)),
            Some(Fix::safe(
                "Read the error and drop counters on both nodes (possible causes: bad cable, duplex \
                    mismatch, full switch buffer):",
                &["ip -s link", "ethtool -S INTERFACE"],
            )),
        ));
    }
    Some(Found::Note(match part(paced) > RETRANSMIT_LIMIT {
        true => format!("{message}: too few of {} packets to call it loss", paced.sent),
        false => {
            let most = outcome.network.packets.iter().flatten().map(part).fold(0.0, f64::max);
            format!("{message}, and {:.2} % at full rate: likely congestion, not a lossy link", percent(most))
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
        Some(Fix::safe(
            "Check that the nodes are in one data center, and the route between them:",
            &["ping NODE", "traceroute NODE"],
        )),
    ))
}

/// The ring is slower than its sockets.
fn ring(outcome: &Outcome) -> Option<Found> {
    let repeated = &outcome.network.repeated;
    let (ring, path) = spread(&repeated.ring).zip(spread(&repeated.path))?;
    if !ring.is_below(TOLERANCE, path) {
        let doubtful = repeated.ring.len() > 1 && ring.low < TOLERANCE * path.high;
        return doubtful.then(|| {
            let (ring, path, rounds) = (range(ring), range(path), repeated.ring.len());
            Found::Note(format!(
                "in {rounds} repeated rounds the all-reduce carries {ring}, the path {path}: not slow in \
                    every round"
            ))
        });
    }
    if repeated.ring.len() < ROUNDS_MIN {
        return None;
    }
    let reaches = format!("the all-reduce carries {}, the path {}", range(ring), range(path));
    let percent = median(&repeated.busy) * 100.0;
    let waits = outcome.network.usage.iter().flatten().any(Usage::is_starved);
    Some(match percent / 100.0 {
        busy if busy >= BUSY_PART => Found::Note(format!(
            "cpu-bound: the network was not the limit: {reaches}, and a rank's summing thread ran or \
                waited for a processor {percent:.0} % of the time"
        )),
        busy if busy < BUSY_PART && waits => {
            let message = format!("{reaches}, while threads of the ranks waited for processors");
            Found::Unknown(message, Some(less_load()))
        }
        busy if busy < BUSY_PART && judged_from(outcome) < JUDGED_FROM_BYTES => Found::Unknown(
            format!("{reaches}, and only sizes were summed that latency slows down"),
            Some(less_load()),
        ),
        busy if busy < BUSY_PART => Found::Slow(
            format!(
                "{reaches}, though no summing thread was busy for more than {percent:.0} % of the time: \
                    cause unknown"
            ),
            None,
        ),
        _ => Found::Note(format!(
            "{reaches}; whether the processors are the limit is unknown: the kernel \
            does not tell how long they were busy"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::super::cpu_limit::{Reading, tests::throttled};
    use super::super::doubts::{doubts, still};
    use super::super::repeated::Doubts;
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
        (outcome.verdict, outcome.message, outcome.remarks)
    }

    #[test]
    fn a_healthy_run_leaves_no_doubt_and_is_ok() {
        assert!(!doubts(&healthy()).any());
        let (verdict, message, remarks) = judged(|_| {});
        assert!(verdict == Verdict::Ok && remarks.is_empty(), "{message} {remarks:?}");
        assert!(message.contains("1.10 GB/s busbw at 64 MiB, 92 %"), "{message}");
    }

    /// A link between ranks whose loopback carries this much.
    fn links(outcome: &mut Outcome, links: &[f64], loopback: f64) {
        outcome.links = links.to_vec();
        outcome.expected = Some(expected(links.iter().copied().fold(f64::INFINITY, f64::min)));
        outcome.network.repeated.links = rounds(links);
        outcome.network.repeated.loopback = rounds(&[loopback; 3]);
    }

    #[test]
    fn each_fault_confirmed_by_repeated_rounds_is_reported() {
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
        for (change, message) in cases {
            let (verdict, reason, _) = judged(change);
            assert!(verdict == Verdict::Slow && reason.contains(message), "{reason}");
        }
    }

    #[test]
    fn cpu_bound_run_is_a_remark_not_a_slow_network() {
        type Noise = (fn(&mut Outcome), &'static str);
        let cases: [Noise; 2] = [
            (
                |outcome| {
                    outcome.network.repeated.ring = vec![0.3e9; 7];
                    outcome.network.repeated.path = vec![1.2e9; 7];
                    outcome.network.repeated.busy = vec![0.97; 7];
                },
                "cpu-bound: the network was not the limit",
            ),
            (
                |outcome| {
                    outcome.network.packets[0] = sent(480);
                    outcome.network.repeated.paced = vec![Packets { sent: 9000, resent: 1 }; 3];
                },
                "0.48 % at full rate: likely congestion",
            ),
        ];
        for (change, message) in cases {
            let (verdict, reason, remarks) = judged(change);
            assert!(verdict == Verdict::Ok && remarks.join("; ").contains(message), "{reason} {remarks:?}");
        }
        let (verdict, message, _) = judged(|outcome| {
            outcome.network.repeated.ring = vec![0.3e9; 7];
            outcome.network.repeated.path = vec![1.2e9; 7];
            outcome.network.repeated.busy = vec![0.2; 7];
        });
        assert!(verdict == Verdict::Slow && message.contains("cause unknown"), "{message}");
    }

    #[test]
    fn network_speed_hidden_by_cpu_bound_ranks_is_unknown() {
        type Hidden = (fn(&mut Outcome), &'static str);
        let cases: [Hidden; 6] = [
            (|outcome| links(outcome, &[0.09e9; 3], 0.2e9), "the speed of the network is unknown"),
            (
                |outcome| links(outcome, &[1.2e9, 1.2e9, 0.3e9], 0.9e9),
                "the other links 1.20 GB/s, and a rank",
            ),
            (
                |outcome| {
                    outcome.network.repeated.ring = vec![0.3e9; 7];
                    outcome.network.repeated.path = vec![1.2e9; 7];
                    outcome.network.repeated.busy = vec![0.69; 7];
                    let usage = Usage { seconds: 16.0, ran: 5.0, waited: 12.0, throttled: None };
                    outcome.network.usage = vec![None, Some(usage), None];
                },
                "while threads of the ranks waited for processors",
            ),
            (
                |outcome| {
                    outcome.network.skipped_from = Some(4 << 20);
                    outcome.results[0].bytes = 1 << 20;
                },
                "all-reduces from 4 MiB up would take too long here",
            ),
            (
                |outcome| {
                    outcome.network.repeated.doubts = Doubts { ring: true, ..Doubts::default() };
                    outcome.network.repeated.ring = vec![0.3e9; 2];
                    outcome.network.repeated.path = vec![1.2e9; 2];
                },
                "only 2 rounds could be repeated",
            ),
            (
                |outcome| {
                    outcome.network.repeated.doubts = Doubts { ring: true, ..Doubts::default() };
                    outcome.network.repeated.path = vec![1.2e9; 3];
                },
                "slower than its path, and 4 MiB would take too long here to measure it again",
            ),
        ];
        for (change, message) in cases {
            let mut outcome = healthy();
            change(&mut outcome);
            judge(&mut outcome);
            let Outcome { verdict, message: reason, fixes, .. } = outcome;
            assert!(verdict == Verdict::Unknown && reason.contains(message), "{reason}");
            assert_eq!(verdict.exit_code(), 3);
            assert_eq!(fixes, [less_load()], "{reason}");
        }
        // Nothing was measured but 8 bytes: a path alone does not make a run ok.
        let mut outcome = healthy();
        outcome.network.skipped_from = Some(256 << 20);
        outcome.results[0].bytes = 8;
        judge(&mut outcome);
        assert_eq!(outcome.verdict, Verdict::Unknown, "{}", outcome.message);
        assert!(outcome.fixes[0].title.contains("`--sizes 8-16M`"), "{:?}", outcome.fixes);
        // A size above those that are judged may be left out.
        assert_eq!(judged(|outcome| outcome.network.skipped_from = Some(32 << 20)).0, Verdict::Ok);
    }

    /// A run in which 16 MiB would have taken too long.
    fn small(change: fn(&mut Outcome)) -> (Verdict, String, Vec<String>) {
        judged(|outcome| {
            outcome.network.skipped_from = Some(16 << 20);
            outcome.results[0].bytes = 4 << 20;
            change(outcome);
        })
    }

    #[test]
    fn skipped_large_sizes_alone_do_not_make_the_verdict_unknown() {
        let (verdict, message, _) = small(|_| {});
        assert!(verdict == Verdict::Ok && message.contains("1.10 GB/s busbw at 4 MiB, 92 %"), "{message}");
        // What is slow at that size is measured again, as nothing larger was.
        let mut outcome = healthy();
        outcome.results[0].bytes = 4 << 20;
        outcome.results[0].bus = 0.3e9;
        assert!(!doubts(&outcome).ring, "a larger size was not asked for");
        outcome.network.skipped_from = Some(16 << 20);
        assert!(doubts(&outcome).ring);
        let (verdict, message, _) = small(|outcome| {
            outcome.network.repeated.ring = vec![0.3e9; 7];
            outcome.network.repeated.path = vec![1.2e9; 7];
            outcome.network.repeated.busy = vec![0.2; 7];
        });
        assert!(verdict == Verdict::Unknown && message.contains("latency"), "{message}");
    }

    #[test]
    fn throttled_rank_outranks_network_causes() {
        let (verdict, message, remarks) = judged(|outcome| {
            let (container, found) = (Some("node3".to_owned()), Ok(Some(throttled(60))));
            outcome.network.cpu_limits = vec![Reading { container, found }];
            outcome.network.repeated.own = rounds(&[0.1, 0.1, 0.9]);
            links(outcome, &[1.2e6; 3], 2e9);
        });
        assert!(verdict == Verdict::Slow && message.contains("throttled container node3 in 60"), "{message}");
        assert!(
            !message.contains("gigabit") && remarks.join("; ").contains("not judged: the path"),
            "{message}"
        );
        // As fast as its path, because both are throttled.
        let (verdict, message, _) = judged(|outcome| {
            let (container, found) = (Some("node3".to_owned()), Ok(Some(throttled(60))));
            outcome.network.cpu_limits = vec![Reading { container, found }];
        });
        assert!(verdict == Verdict::Slow && message.contains("the CPU limit of 0.1 CPUs"), "{message}");
    }

    #[test]
    fn doubt_is_cleared_once_a_repeated_round_is_fast() {
        let mut outcome = healthy();
        let doubts = Doubts { links: true, ring: true, own: true, loss: true };
        assert_eq!(still(&outcome, doubts), Doubts { loss: false, ..doubts }, "nothing was repeated yet");
        links(&mut outcome, &[1.2e9, 1.2e9, 0.3e9], 2e9);
        let repeated = &mut outcome.network.repeated;
        (repeated.ring, repeated.path) = (vec![0.3e9; 3], vec![1.2e9; 3]);
        repeated.own = rounds(&[0.1, 0.1, 0.31]);
        repeated.paced = vec![Packets { sent: 5000, resent: 55 }; 3];
        assert_eq!(still(&outcome, doubts), doubts, "slow in every round");
        let repeated = &mut outcome.network.repeated;
        repeated.links[2].push(1.2e9);
        repeated.ring.push(1.0e9);
        repeated.own[2].push(0.1);
        repeated.paced = vec![Packets { sent: 500_000, resent: 55 }; 3];
        assert!(!still(&outcome, doubts).any());
    }

    #[test]
    fn stall_during_repeat_phase_keeps_earlier_findings() {
        let interrupted = |verdict, change: fn(&mut Outcome)| {
            let mut outcome = healthy();
            change(&mut outcome);
            (outcome.verdict, outcome.message) = (verdict, "repeat: node2: the connection stalled".into());
            judge_interrupted(&mut outcome);
            (outcome.verdict, outcome.message, outcome.remarks)
        };
        let slow: fn(&mut Outcome) = |outcome| outcome.network.repeated.own = rounds(&[0.1, 0.1, 0.31]);
        // The processors may be why it stalled: what was seen before decides.
        let (verdict, message, remarks) = interrupted(Verdict::Unknown, slow);
        assert!(verdict == Verdict::Slow && message.contains("node3 takes 3.1 times"), "{message}");
        assert!(remarks.iter().any(|remark| remark.contains("stalled")), "{remarks:?}");
        let (verdict, message, _) = interrupted(Verdict::Failed, slow);
        assert!(verdict == Verdict::Failed && message.starts_with("repeat: node2"), "{message}");
        assert!(message.contains("node3 takes 3.1 times"), "{message}");
        // Nothing was found before: the stall is all there is.
        for verdict in [Verdict::Unknown, Verdict::Failed, Verdict::Slow] {
            let (judged, message, _) = interrupted(verdict, |_| {});
            assert!(judged == verdict && message == "repeat: node2: the connection stalled", "{message}");
        }
    }

    #[test]
    fn slow_rank_at_small_sizes_is_doubted() {
        let mut outcome = healthy();
        outcome.results[0].bytes = 4 << 20;
        outcome.network.own = vec![0.3, 0.3, 3.0];
        assert!(doubts(&outcome).own);
        outcome.network.own = vec![0.003, 0.003, 0.03];
        assert!(!doubts(&outcome).own);
    }

    #[test]
    fn fault_seen_in_a_single_round_is_ignored() {
        let (verdict, message, _) = judged(|outcome| {
            links(outcome, &[1.2e9, 1.3e9, 1.25e9], 2e9);
            outcome.network.repeated.links[2][3] = 1e6;
            outcome.network.repeated.own = rounds(&[0.1, 0.1, 0.31]);
            outcome.network.repeated.own[2][5] = 0.1;
        });
        assert_eq!(verdict, Verdict::Ok, "{message}");
    }
}
