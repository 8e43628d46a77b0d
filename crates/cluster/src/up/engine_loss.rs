//! Whether an engine went away while `up` worked: then that is the cause, and what failed for it is not told as if it were one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::Work;
use crate::problem::Problem;

/// The longest that an engine may take to say that it is there.
const ANSWERING: Duration = Duration::from_secs(10);
/// What is read from a connection whose other end was closed in the middle.
const TORN: [&str; 5] = [
    "Connection reset by peer",
    "connection closed before message completed",
    "Broken pipe",
    "operation was canceled",
    "unexpected end of file",
];

/// The problems of engines that do not answer any more first, in place of what failed on their nodes for it.
pub(super) async fn first(work: &Work<'_>, problems: Vec<Problem>) -> Vec<Problem> {
    let step = problems.first().map_or_else(String::new, |problem| problem.step.clone());
    let asked = work.nodes.iter().map(|(node, engine)| async move {
        let silent = engine.answers(Instant::now() + ANSWERING).await.err();
        silent.map(|why| (node.name.as_str(), why))
    });
    let silent: Vec<(&str, String)> = join_all(asked).await.into_iter().flatten().collect();
    let mut told: Vec<Problem> = silent.iter().map(|(node, why)| went_away(&step, node, why)).collect();
    for problem in problems {
        let of_silent =
            problem.node.as_deref().is_some_and(|node| silent.iter().any(|(silent, _)| *silent == node));
        if !of_silent {
            told.push(returned(problem));
        }
    }
    told
}

/// An engine that answered when `up` began, and does not now.
fn went_away(step: &str, node: &str, why: &str) -> Problem {
    let says = format!("the engine of {node} went away while `up` worked: {why}");
    Problem::of(step, node, says)
        .fix("systemctl status docker and journalctl -u docker, on that node, say why; systemctl start docker starts it")
        .fix("then `envdoc cluster up` goes on from here")
}

/// An engine that was away for a moment, as one that is restarted is, only tears what was asked of it just then.
fn returned(mut problem: Problem) -> Problem {
    let Some(node) = problem.node.clone() else { return problem };
    if TORN.iter().any(|words| problem.says.contains(words)) {
        problem.says = format!(
            "the engine of {node} went away during `up` and answers again; what was asked then failed: {}",
            problem.says
        );
        problem.fix = vec![
            "journalctl -u docker, on that node, says why it was started again".into(),
            "`envdoc cluster up` goes on from here".into(),
        ];
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_was_away_for_a_moment() {
        let torn = Problem::of("swarm", "node2", "it cannot join: Connection reset by peer (os error 104)")
            .fix("nc -vz");
        let told = returned(torn);
        assert!(
            told.says.starts_with("the engine of node2 went away during `up` and answers again"),
            "{told:?}"
        );
        assert_eq!(told.fix.len(), 2);
        let other = Problem::of("swarm", "node2", "2377/tcp is blocked").fix("open it");
        assert_eq!(returned(other.clone()), other);
    }
}
