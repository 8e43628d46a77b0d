//! The log of NCCL.

use std::time::Duration;

use docker::fan_out;

use super::workers::Rank;
use super::{Answer, Task};
use crate::smoke::outcome::Captured;

/// What NCCL wrote on every rank.
pub(super) async fn logs(ranks: &[Rank]) -> Vec<Captured> {
    fan_out(ranks.iter().map(|rank| async move {
        let lines = match rank.ask(Task::Log, Duration::from_secs(5)).await {
            Ok(Answer::Log { lines }) => lines,
            _ => Vec::new(),
        };
        Captured { from: format!("NCCL on {}", rank.name()), lines }
    }))
    .await
}
