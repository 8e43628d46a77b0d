//! OOM kills during a job, with the rank that ended.

use crate::jobs::Ended;
use crate::launch::FirstFailure;
use crate::oom::{Finding, inspect};

/// Exit status of a program that SIGKILL ended, as a shell or an engine gives it.
const KILLED_STATUS: i64 = 137;

/// What there is to say after a job, each a line.
pub(crate) fn lines(found: &[(String, Finding)], ended: &[Ended], first: &FirstFailure) -> Vec<String> {
    found.iter().flat_map(|(node, finding)| of_node(node, finding, ended, first)).collect()
}

fn of_node(node: &str, finding: &Finding, ended: &[Ended], first: &FirstFailure) -> Vec<String> {
    let killed = first.killed().filter(|killed| killed.node == node);
    let launcher =
        ended.iter().any(|end| end.node == node && !end.stopped && end.status == Ok(KILLED_STATUS));
    let whose = match &killed {
        Some(killed) => match &killed.rank {
            Some(rank) => format!("rank {rank} ended with signal 9 (SIGKILL); "),
            None => "a rank ended with signal 9 (SIGKILL); ".to_owned(),
        },
        None if launcher => "the launcher ended with signal 9 (SIGKILL); ".to_owned(),
        None => String::new(),
    };
    match finding {
        Finding::Killed(kill) => {
            let message = format!("{node}: {whose}{}", kill.message(Some(node)));
            let fixes = kill.fixes(Some(node)).into_iter().map(|fix| format!("  {fix}"));
            std::iter::once(message).chain(fixes).collect()
        }
        // There is nothing to explain without a process that SIGKILL ended.
        _ if whose.is_empty() => Vec::new(),
        Finding::Nothing | Finding::Unread(_) => {
            let message = finding.no_evidence(Some(node)).map(|message| format!("{node}: {whose}{message}"));
            let state = format!("  Check the engine's state on the machine of {node}: `{}`", inspect(node));
            message.into_iter().chain(matches!(finding, Finding::Unread(_)).then_some(state)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oom::{Evidence, Kill, Limit, Unread};

    #[test]
    fn sigkill_alone_is_never_called_an_oom_kill() {
        let first = FirstFailure::default();
        let exits = "node2: ['/usr/bin/python3'] failed (exitcode: -9) local_rank: 0 (pid: 403) of binary: x";
        first.line("node2", exits);
        let said = |finding| lines(&[("node2".to_owned(), finding)], &[], &first);
        let kill = Kill { evidence: Evidence::Engine, limit: Limit::Bytes(64 << 20), own_limit: None };
        let killed = said(Finding::Killed(kill));
        assert!(
            killed[0].starts_with(
                "node2: a rank ended with signal 9 (SIGKILL); the engine reports that the kernel's OOM killer"
            ),
            "{killed:?}"
        );
        assert_eq!(killed.len(), 3);
        assert_eq!(
            said(Finding::Nothing),
            ["node2: a rank ended with signal 9 (SIGKILL); not by the OOM killer: its counter did not \
                 change in container node2"]
        );
        let unread = said(Finding::Unread(Unread::NoCounter));
        assert!(unread[0].contains("could not check for an OOM kill: no memory cgroup"), "{unread:?}");
        assert_eq!(lines(&[("node1".to_owned(), Finding::Nothing)], &[], &first), Vec::<String>::new());
    }
}
