//! The phase `loss`: what each direction loses, before anything that would only wait for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use docker::fan_out;

use super::Site;
use crate::container_probe::ContainerProbe;
use crate::flow::measure::{self, Peer};
use crate::flow::rate::{self, Way};
use crate::probe::Probe;
use crate::request::NetworkKind;
use crate::smoke::changed_packets::Changed;
use crate::smoke::outcome::{Outcome, Phase, PhaseFailed, Status};
use crate::smoke::phase::PhaseId;

/// Datagrams of a direction that must be missing before the machines' counts are looked at.
const MISSING_MIN: u32 = 2;
/// Datagrams that are sent while they count.
const CHANGED_COUNT: u32 = 400;
/// Wrong checksums meanwhile that are no chance.
const CHANGED_MIN: u64 = 2;

impl Site<'_> {
    /// Small datagrams in each direction. Heavy loss fails; a direction in which nothing arrives is left to
    /// the phases that follow, which find out why.
    pub(super) async fn loss(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Loss, "counting packets in each direction");
        let peers: Vec<Peer<'_>> = containers.iter().map(Peer::from).collect();
        let ways = match measure::all(&peers, &measure::directions(peers.len())).await {
            Ok(ways) => ways,
            // A worker that is gone or has no port for it: the phase `tcp` names that.
            Err(failure) => {
                skip(outcome, start, format!("packets could not be counted: {failure}"));
                return Ok(());
            }
        };
        let names = outcome.ranks.clone();
        outcome.network.changed = self.changed(containers, &peers, &ways).await;
        outcome.network.ways = ways;
        let ways = &outcome.network.ways;
        let heavy = rate::losses(ways, &names, Way::is_heavy);
        if heavy.is_empty() {
            match blocked(ways, &names) {
                Some(message) => skip(outcome, start, message),
                None => {
                    let message = summary(ways);
                    outcome.finish_phase(PhaseId::Loss, start, Vec::new(), &message)?;
                }
            }
            return Ok(());
        }
        let fixes = rate::loss_fixes(ways, &names);
        let (explains, rest): (Vec<&Changed>, Vec<&Changed>) =
            outcome.network.changed.iter().partition(|changed| changed.explains(ways));
        let message = |changed: &Changed| (names[changed.to].clone(), changed.message(&names));
        let mut failed: Vec<_> = explains.into_iter().map(message).collect();
        failed.extend(heavy.into_iter().map(|(index, message)| (names[index].clone(), message)));
        let mut remarks: Vec<String> = rest.into_iter().map(|changed| message(changed).1).collect();
        remarks.push("later phases were skipped: at this rate TCP stalls, and measures nothing".into());
        outcome.remarks.extend(remarks);
        outcome.fixes.extend(fixes);
        outcome.finish_phase(PhaseId::Loss, start, failed, "")
    }

    /// Whether what does not arrive was thrown away for a wrong checksum: sent again, while the machines of
    /// the receivers count. The overlay's packets have a checksum of their own, which the machine checks, not
    /// the container.
    async fn changed(
        &self,
        containers: &[ContainerProbe<'_>],
        peers: &[Peer<'_>],
        ways: &[Way],
    ) -> Vec<Changed> {
        let bad = ways.iter().filter(|way| !way.is_blocked() && way.lost() >= MISSING_MIN);
        let bad: Vec<(usize, usize)> = bad.map(|way| (way.from, way.to)).collect();
        if bad.is_empty() {
            return Vec::new();
        }
        let receivers: BTreeSet<usize> = bad.iter().map(|(_, to)| *to).collect();
        let probes = fan_out(receivers.iter().map(|index| async move {
            let one = &containers[*index];
            (*index, Probe::start(self.plan, one.node, one.engine, "host", self.bundle).await.ok())
        }))
        .await;
        let machines = probes.iter().filter_map(|(index, probe)| Some((*index, probe.as_ref()?.session())));
        let own = receivers.iter().map(|index| (*index, peers[*index].session));
        let places: Vec<(usize, Peer<'_>)> = machines
            .chain(own.filter(|_| self.plan.network.kind != NetworkKind::Host))
            .map(|(index, session)| (index, Peer { address: peers[index].address, session }))
            .collect();
        let counting: Vec<Peer<'_>> = places.iter().map(|(_, peer)| *peer).collect();
        let before = measure::counters(&counting).await;
        let sent = measure::once(peers, &bad, CHANGED_COUNT, &measure::run()).await.unwrap_or_default();
        let after = measure::counters(&counting).await;
        let rises = places.iter().zip(before.iter().zip(&after));
        let rises = rises.filter_map(|((index, _), (before, after))| {
            Some((*index, after.as_ref()?.since(before.as_ref()?).corrupted?))
        });
        let changed = changed(rises, &sent);
        for (_, probe) in probes {
            if let Some(probe) = probe {
                probe.end().await;
            }
        }
        changed
    }
}

/// The counts of each place together with what was sent to it.
fn changed(rises: impl Iterator<Item = (usize, u64)>, sent: &[Way]) -> Vec<Changed> {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    rises.for_each(|(index, count)| *counts.entry(index).or_default() += count);
    let of = |(to, count): (usize, u64)| {
        let own: Vec<&Way> = sent.iter().filter(|way| way.to == to).collect();
        Changed {
            from: own.iter().map(|way| way.from).collect(),
            to,
            count,
            sent: own.iter().map(|way| way.sent).sum(),
        }
    };
    counts.into_iter().filter(|(_, count)| *count >= CHANGED_MIN).map(of).collect()
}

fn skip(outcome: &mut Outcome, start: Instant, message: String) {
    let seconds = start.elapsed().as_secs_f64();
    outcome.phases.push(Phase { id: PhaseId::Loss, node: None, status: Status::Skipped, seconds, message });
}

/// Directions in which nothing arrives.
fn blocked(ways: &[Way], names: &[String]) -> Option<String> {
    let blocked = ways.iter().filter(|way| way.is_blocked());
    let message: Vec<String> =
        blocked.map(|way| format!("nothing from {} arrives at {}", names[way.from], names[way.to])).collect();
    (!message.is_empty()).then(|| message.join("; "))
}

fn summary(ways: &[Way]) -> String {
    let sum = |part: fn(&Way) -> u32| ways.iter().map(part).sum::<u32>();
    format!("{} of {} small packets lost, {} directions", sum(Way::lost), sum(|way| way.sent), ways.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_only_the_blocked_direction() {
        let names = ["node1", "node2"].map(str::to_owned);
        let way =
            |from, to, arrived| Way { from, to, sent: 120, arrived, duplicates: 0, late: 0, refused: None };
        let ways = [way(0, 1, 0), way(1, 0, 119)];
        assert_eq!(blocked(&ways, &names).as_deref(), Some("nothing from node1 arrives at node2"));
        let counts = changed([(1, 1), (1, 7)].into_iter(), &[way(0, 1, 112)]);
        assert_eq!(counts, [Changed { from: vec![0], to: 1, count: 8, sent: 120 }]);
        assert!(changed([(1, 1)].into_iter(), &ways).is_empty());
        assert_eq!(summary(&ways[1..]), "1 of 120 small packets lost, 1 directions");
    }
}
