//! A connection that stalled while a rank waited for a processor: nothing that a network can be blamed for.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::fan_out;

use super::ask::ask;
use super::{PEER_GRACE, PhaseRunner};
use crate::smoke::found::less_load;
use crate::smoke::outcome::{PhaseFailed, Status, Verdict};
use crate::smoke::phase::PhaseId;
use crate::smoke::processor::Usage;
use crate::smoke::rank_task::{Answer, Task};

/// The longest that a rank may take to tell what it got of the processors: it may be starved still.
const USAGE_TIMEOUT: Duration = Duration::from_secs(10);

impl PhaseRunner<'_> {
    /// The ranks that waited for a processor for so long that a stall of their connections may be theirs.
    pub(super) async fn starved(&self) -> Vec<(usize, Usage)> {
        let (stall, slack) = (self.options.stall, PEER_GRACE + Duration::from_secs(1));
        let usages = self.usage(stall + slack).await.into_iter().enumerate();
        usages
            .filter_map(|(rank, usage)| Some((rank, usage.filter(|usage| usage.explains(stall))?)))
            .collect()
    }

    /// What each rank got of the processors lately.
    pub(super) async fn usage(&self, lately: Duration) -> Vec<Option<Usage>> {
        let seconds = lately.as_secs_f64();
        let asked =
            self.endpoints.iter().map(|endpoint| ask(endpoint, Task::Processor { seconds }, USAGE_TIMEOUT));
        let usages = fan_out(asked).await.into_iter();
        usages
            .map(|answer| match answer {
                Ok(Answer::Processor { usage }) => usage,
                _ => None,
            })
            .collect()
    }

    /// Ends the test without a judgement of the network.
    pub(super) fn not_judged(
        &mut self,
        id: PhaseId,
        start: Instant,
        stalled: &str,
        starved: Vec<(usize, Usage)>,
    ) -> Result<(), PhaseFailed> {
        let row = |(rank, usage): &(usize, Usage)| {
            let node = self.endpoints[*rank].node.clone();
            (node.clone(), message(&node, usage))
        };
        let rows: Vec<_> = starved.iter().map(row).collect();
        let (limited, load) = starved.iter().partition::<Vec<_>, _>(|(_, usage)| usage.is_limited());
        let limits = limited.iter().filter(|(rank, _)| !self.endpoints[*rank].is_rank).map(|(rank, _)| {
            let node = &self.endpoints[*rank].node;
            Fix::run(
                format!("Raise the CPU limit of the container on {node}:"),
                format!("docker update --cpus N {node}"),
            )
        });
        self.outcome.fixes.extend(limits.chain((!load.is_empty()).then(less_load)));
        let (verdict, status, not_judged) = stalled_verdict(id, !limited.is_empty());
        let why: Vec<&str> = rows.iter().map(|(_, message)| message.as_str()).collect();
        self.outcome.message = format!("{}: {not_judged}{stalled}, while {}", id.id(), why.join("; "));
        self.outcome.verdict = verdict;
        self.outcome.end_phase(id, status, start.elapsed().as_secs_f64(), rows);
        Err(PhaseFailed)
    }
}

/// Of a stall while ranks waited for a processor. A CPU limit is a cause that can be named; other load may be
/// gone the next time. Before the phase `repeat` every sum was correct.
fn stalled_verdict(id: PhaseId, is_limited: bool) -> (Verdict, Status, &'static str) {
    match (is_limited, id) {
        (false, _) => (Verdict::Unknown, Status::Unknown, "not judged: "),
        (true, PhaseId::Repeat) => (Verdict::Slow, Status::Unknown, ""),
        (true, _) => (Verdict::Failed, Status::Failed, ""),
    }
}

/// What a rank did not get.
fn message(node: &str, usage: &Usage) -> String {
    let Usage { seconds, ran, waited, throttled } = usage;
    let limit = match throttled.filter(|_| usage.is_limited()) {
        Some(throttled) => format!(" (its CPU limit throttled it for {throttled:.1} s)"),
        None => String::new(),
    };
    format!(
        "the threads of {node} ran {ran:.1} s and waited {waited:.1} s for a processor in the last \
            {seconds:.1} s{limit}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_under_a_cpu_limit_is_not_unknown() {
        assert_eq!(stalled_verdict(PhaseId::Bandwidth, false).0, Verdict::Unknown);
        assert_eq!(stalled_verdict(PhaseId::Bandwidth, true).0, Verdict::Failed);
        assert_eq!(stalled_verdict(PhaseId::Repeat, true).0, Verdict::Slow);
    }

    #[test]
    fn the_cause_is_the_limit_only_where_there_is_one() {
        let usage = |throttled| Usage { seconds: 8.0, ran: 0.8, waited: 7.1, throttled };
        assert_eq!(
            message("node2", &usage(Some(6.4))),
            "the threads of node2 ran 0.8 s and waited 7.1 s for a processor in the last 8.0 s (its CPU \
                limit throttled it for 6.4 s)"
        );
        assert!(!message("node2", &usage(Some(0.0))).contains("limit"));
        assert!(!message("node2", &usage(None)).contains("limit"));
    }
}
