//! Whether an engine went away while `up` worked: then that is the cause, and what failed for it is left out
//! as if it were one.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::fan_out;

use super::Work;
use crate::fixes;
use crate::problem::{Problem, Step};

/// The longest that an engine may take to say that it is there.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The problems of engines that do not answer any more first, in place of what failed on their nodes for it.
pub(super) async fn first(work: &Work<'_>, problems: Vec<Problem>) -> Vec<Problem> {
    let Some(step) = problems.first().map(|problem| problem.step) else { return problems };
    let asked = work.nodes.iter().map(|(node, engine)| async move {
        let silent = engine.answers(Instant::now() + ANSWER_TIMEOUT).await.err();
        silent.map(|why| (node.name.as_str(), why.to_string()))
    });
    let silent: Vec<(&str, String)> = fan_out(asked).await.into_iter().flatten().collect();
    let mut reported: Vec<Problem> = silent.iter().map(|(node, why)| went_away(step, node, why)).collect();
    for problem in problems {
        let of_silent =
            problem.node.as_deref().is_some_and(|node| silent.iter().any(|(silent, _)| *silent == node));
        if !of_silent {
            reported.push(returned(problem));
        }
    }
    reported
}

/// An engine that answered when `up` began, and does not now.
fn went_away(step: Step, node: &str, why: &str) -> Problem {
    let message = format!("the Docker engine on {node} stopped responding during `up`: {why}");
    Problem::of(step, node, message)
        .fix(Fix::safe(
            "Find out why on that node, then start it:",
            &["systemctl status docker", "journalctl -u docker", "systemctl start docker"],
        ))
        .fix(fixes::resume())
}

/// An engine that was away for a moment, as one that is restarted is, only tears what was asked of it just
/// then.
fn returned(mut problem: Problem) -> Problem {
    let Some(node) = problem.node.clone() else { return problem };
    if problem.connection_closed {
        problem.message = format!(
            "the Docker engine on {node} restarted during `up`; the request in progress failed: {}",
            problem.message
        );
        problem.fixes = vec![
            Fix::run("Find out on that node why it restarted:", "journalctl -u docker"),
            fixes::resume(),
        ];
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_engine_restart_during_up() {
        let torn =
            Problem::of(Step::Swarm, "node2", "it cannot join: Connection reset by peer (os error 104)")
                .closed(true)
                .fix(Fix::manual("nc -vz"));
        let reported = returned(torn);
        assert!(
            reported.message.starts_with("the Docker engine on node2 restarted during `up`"),
            "{reported:?}"
        );
        assert_eq!(reported.fixes.len(), 2);
        let other = Problem::of(Step::Swarm, "node2", "2377/tcp is blocked").fix(Fix::manual("open it"));
        assert_eq!(returned(other.clone()), other);
    }
}
