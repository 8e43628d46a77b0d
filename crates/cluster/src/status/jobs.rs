//! What the runs of envdoc and what they left say of a cluster.

use crate::activity::Activity;
use crate::leftovers;
use crate::lock::{self, Holder};

/// Why what the first node records is unknown.
#[derive(Debug, thiserror::Error)]
pub(super) enum FirstNode {
    #[error("the first node cannot be reached")]
    Unreached,
    #[error(transparent)]
    Engine(docker::Error),
    #[error(transparent)]
    Locks(lock::Error),
}

/// Processes that the envdoc of a job left. Without the locks nobody knows whether it still runs.
pub(super) fn of_jobs(running: &[(String, Activity)], runs: Result<&[Holder], &FirstNode>) -> Vec<String> {
    match runs {
        Ok(runs) => {
            let left = running.iter().flat_map(|(node, activity)| leftovers::of(node, activity, runs));
            left.map(|one| one.to_string()).collect()
        }
        Err(why) => vec![format!(
            "unknown whether envdoc is using or changing the cluster, and whether an ended job left \
            processes: {why}"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_locks_are_noted() {
        assert_eq!(of_jobs(&[], Ok(&[])), [""; 0]);
        let notes = of_jobs(&[], Err(&FirstNode::Unreached));
        assert!(
            notes[0].contains("unknown whether") && notes[0].ends_with(": the first node cannot be reached"),
            "{notes:?}"
        );
    }
}
