//! The counters of CPU limits, before and after what is measured.

use std::time::{Duration, Instant};

use docker::fan_out;

use super::ask::ask;
use super::{Endpoint, PhaseRunner};
use crate::smoke::cpu_limit::{Group, Reading, Throttled, Unread};
use crate::smoke::rank_task::{Answer, Task};

/// The longest that a rank may take to read its counters: it may be throttled still.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The counters of each container at a time.
pub(super) struct CpuLimits(Vec<Result<Vec<Group>, Unread>>, Instant);

impl<'p> PhaseRunner<'p> {
    /// Reads the counters.
    pub(super) async fn cpu_limits(&self) -> CpuLimits {
        let read = fan_out(self.limited().map(|endpoint| async move {
            match ask(endpoint, Task::CpuLimit, READ_TIMEOUT).await {
                Ok(Answer::CpuLimit { groups }) => groups,
                _ => Err(Unread::NoAnswer),
            }
        }));
        CpuLimits(read.await, Instant::now())
    }

    /// What was counted since.
    pub(super) async fn throttled(&self, before: CpuLimits) -> Vec<Reading> {
        let after = self.cpu_limits().await;
        let seconds = (after.1 - before.1).as_secs_f64();
        let readings = before.0.into_iter().zip(after.0).zip(self.limited());
        let reading = |((before, after), endpoint): ((Result<_, _>, Result<_, _>), &Endpoint)| Reading {
            container: (!endpoint.is_rank).then(|| endpoint.node.clone()),
            found: before.and_then(|before: Vec<Group>| {
                after.map(|after: Vec<Group>| Throttled::between(&before, &after, seconds))
            }),
        };
        readings.map(reading).collect()
    }

    /// One rank of every control group: those of one machine share theirs.
    fn limited(&self) -> impl Iterator<Item = &'p Endpoint> {
        let shared = self.endpoints.iter().all(|endpoint| endpoint.is_rank);
        self.endpoints.iter().take(if shared { 1 } else { usize::MAX })
    }
}
