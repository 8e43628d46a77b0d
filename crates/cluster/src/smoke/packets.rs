//! What small datagrams and the kernels' counts say of the network: packets that are lost, changed, doubled
//! or out of order.

use super::outcome::Outcome;
use crate::flow::rate::{self, Way};
use diagnostic::Fix;

/// Segments with a wrong checksum that a run may have: one may be chance, in a memory or a cable.
const CORRUPTED_LIMIT: u64 = 3;

/// Why the network is bad although every element arrived, with what to do.
pub(super) fn reasons(outcome: &Outcome) -> Vec<(String, Fix)> {
    let (ways, names) = (&outcome.network.ways, &outcome.ranks);
    let mut reasons = corrupted(outcome);
    let lost = rate::losses(ways, names, Way::is_lossy).into_iter().map(|(_, message)| message);
    reasons.extend(lost.map(|message| {
        let title = "Read the error and drop counters on both nodes:";
        (message, Fix::safe(title, &["ip -s link", "ethtool -S INTERFACE"]))
    }));
    reasons.extend(rate::disorder(ways, names).into_iter().map(|message| {
        let title = "Check for packets that take several paths or a loop (bonding mode balance-rr, \
            per-packet load balancing, a switch loop), on both nodes:";
        let counters = "nstat -az TcpExtTCPOFOQueue TcpExtTCPDSACKOldSent";
        (message, Fix::safe(title, &["cat /proc/net/bonding/*", counters]))
    }));
    reasons
}

/// Nodes that got segments with a wrong checksum.
fn corrupted(outcome: &Outcome) -> Vec<(String, Fix)> {
    let fix = Fix::safe(
        "Check cable, transceiver and network adapter on the path (CRC errors), and whether the counts still \
            rise, on both nodes:",
        &["ethtool -S INTERFACE", "nstat -az TcpInCsumErrors UdpInCsumErrors"],
    );
    let network = &outcome.network;
    let changes = network.changed.iter().map(|changed| changed.message(&outcome.ranks));
    let counted = network.counters.iter().enumerate();
    let wrong = counted.filter_map(|(rank, counters)| Some((rank, (*counters)?.corrupted?)));
    let wrong = wrong
        .filter(|(rank, count)| {
            *count > CORRUPTED_LIMIT && !network.changed.iter().any(|one| one.to == *rank)
        })
        .map(|(rank, count)| sentence(outcome, rank, count));
    changes.chain(wrong).map(|message| (message, fix.clone())).collect()
}

fn sentence(outcome: &Outcome, rank: usize, count: u64) -> String {
    let name = &outcome.ranks[rank];
    let others: Vec<&String> = outcome.ranks.iter().filter(|other| *other != name).collect();
    // The kernel counts for all senders together.
    let from = match others[..] {
        [other] => format!(" from {other}"),
        _ => String::new(),
    };
    let segments = outcome.network.counters[rank].and_then(|counters| counters.tcp_in);
    let of = segments.map_or(String::new(), |segments| format!(" among {segments} good segments"));
    format!(
        "{name} received {count} packets{from} with a wrong checksum{of}: their content was changed on the \
            way, and TCP sends them again"
    )
}

#[cfg(test)]
mod tests {
    use super::super::changed_packets::Changed;
    use super::*;
    use crate::flow::Counters;

    fn outcome(corrupted: Option<u64>) -> Outcome {
        let names = ["node1", "node2"].map(str::to_owned).to_vec();
        let mut outcome = Outcome::new(catalog::testing::catalog(), names);
        let counters = Counters { corrupted, tcp_in: Some(20_000), ..Counters::default() };
        outcome.network.counters = vec![Some(Counters::default()), Some(counters)];
        outcome
    }

    #[test]
    fn changed_packets_are_not_called_lost() {
        let reasons = reasons(&outcome(Some(57)));
        assert_eq!(reasons.len(), 1);
        assert!(
            reasons[0]
                .0
                .starts_with("node2 received 57 packets from node1 with a wrong checksum among 20000"),
            "{reasons:?}"
        );
    }

    #[test]
    fn packets_dropped_for_bad_checksums_are_reported() {
        let mut outcome = outcome(None);
        outcome.network.changed = vec![Changed { from: vec![0], to: 1, count: 8, sent: 400 }];
        let reasons = reasons(&outcome);
        assert!(
            reasons[0].0.starts_with("node2 dropped 8 packets with a wrong checksum while node1 sent 400"),
            "{reasons:?}"
        );
    }

    #[test]
    fn few_or_unknown_corrupted_packets_are_not_reported() {
        assert!(reasons(&outcome(Some(2))).is_empty());
        assert!(reasons(&outcome(None)).is_empty());
    }
}
