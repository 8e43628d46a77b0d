//! OOM kills while the test ran: in its verdict where it failed, else as a remark.

use super::outcome::{Outcome, Status, Verdict};
use crate::oom::{self, Finding, Kill};

/// A rank that SIGKILL ended.
pub(super) struct Killed {
    /// From 0.
    pub(super) rank: usize,
    pub(super) process: u32,
}

/// Adds what was found in the containers of the nodes.
pub(super) fn in_containers(outcome: &mut Outcome, found: Vec<(String, Finding)>) {
    for (node, finding) in found {
        let failed = outcome
            .phases
            .iter()
            .any(|phase| phase.status == Status::Failed && phase.node.as_deref() == Some(node.as_str()));
        match finding {
            Finding::Killed(kill) => add(outcome, &node, Some(&node), &kill),
            Finding::Unread(why) if failed => {
                outcome.remarks.push(format!("{node}: {}", oom::unread(&why)));
            }
            Finding::Nothing | Finding::Unread(_) => {}
        }
    }
}

/// Adds what was found on this machine. `killed`: ranks that SIGKILL ended, which alone is no OOM kill.
pub(super) fn here(outcome: &mut Outcome, finding: Finding, killed: &[Killed]) {
    let whose: Vec<_> = killed
        .iter()
        .map(|one| format!("rank {} (process {}) ended with signal 9 (SIGKILL)", one.rank, one.process))
        .collect();
    if let Finding::Killed(kill) = &finding {
        let whose = if whose.is_empty() { "this machine".to_owned() } else { whose.join(", ") };
        add(outcome, &whose, None, kill);
    } else if let Some(message) = finding.no_evidence(None) {
        outcome.remarks.extend(whose.iter().map(|whose| format!("{whose}; {message}")));
    }
}

fn add(outcome: &mut Outcome, whose: &str, container: Option<&str>, kill: &Kill) {
    let message = kill.message(container);
    outcome.fixes.extend(kill.fixes(container));
    if outcome.verdict != Verdict::Failed {
        outcome.remarks.push(format!("{whose}: {message}"));
        return;
    }
    let failed = |phase: &&mut super::outcome::Phase| {
        phase.status == Status::Failed && phase.node.as_deref() == container
    };
    for phase in outcome.phases.iter_mut().filter(failed) {
        phase.message += &format!("; {message}");
    }
    outcome.message += &format!("; {whose}: {message}");
}
