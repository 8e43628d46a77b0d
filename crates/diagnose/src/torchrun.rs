//! What torchrun (torch.distributed.elastic) prints when ranks end. The only file that reads its messages.

/// The line above the rank that failed first, in the table of failed ranks.
pub(crate) const FIRST_FAILURE: &str = "Root Cause (first observed failure)";

/// The exception of torchrun that the table belongs to.
pub(crate) const CHILD_FAILED: &str = "multiprocessing.errors.ChildFailedError";

const RANK_ENDED: &str = "failed (exitcode: ";
const OTHERS_STOPPED: &str = " closing signal ";

/// Whether the lines after this one name the rank that failed first.
pub fn names_first_failure(line: &str) -> bool {
    line.contains(FIRST_FAILURE)
}

/// Whether an agent reports the end of an attempt: a rank ended, or it stops the others.
pub(crate) fn ends_attempt(line: &str) -> bool {
    line.contains(RANK_ENDED) || line.contains(OTHERS_STOPPED)
}

/// A rank of the agent's node that ended.
#[derive(Debug, PartialEq, Eq)]
pub struct RankEnded<'l> {
    /// Its exit status, or the negative number of its signal: `-9`.
    pub exit: &'l str,
    /// Its number on the node.
    pub local_rank: Option<u32>,
}

/// An agent's line about a rank that ended: `failed (exitcode: -9) local_rank: 0 (pid: 403) of binary: …`.
pub fn rank_ended(line: &str) -> Option<RankEnded<'_>> {
    let (exit, rest) = line.split_once(RANK_ENDED)?.1.split_once(") local_rank: ")?;
    let local_rank = rest.split_whitespace().next().and_then(|text| text.parse().ok());
    Some(RankEnded { exit, local_rank })
}

/// What an entry of the table of failed ranks says.
#[derive(Debug, PartialEq, Eq)]
pub enum TableEntry<'l> {
    /// The rank's number in the job.
    Rank(&'l str),
    /// Its exit status, or the negative number of its signal.
    Exit(&'l str),
}

/// Reads `rank      : 3 (local_rank: 1)` and `exitcode  : -9 (pid: 403)`.
pub fn table_entry(line: &str) -> Option<TableEntry<'_>> {
    let (name, value) = line.split_once(':')?;
    let value = value.split_whitespace().next().unwrap_or_default();
    match name.trim() {
        "rank" => Some(TableEntry::Rank(value)),
        "exitcode" => Some(TableEntry::Exit(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_ended() {
        let line =
            "E1126 api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 403) of binary: /usr/bin/python3";
        assert_eq!(rank_ended(line), Some(RankEnded { exit: "-9", local_rank: Some(1) }));
        assert!(ends_attempt(line));
        assert!(ends_attempt("W1126 Sending process 402 closing signal SIGTERM"));
        for other in ["failed (exitcode: 1)", "exitcode  : -9 (pid: 403)", ""] {
            assert_eq!(rank_ended(other), None, "{other}");
        }
        assert_eq!(table_entry("  rank      : 3 (local_rank: 1)"), Some(TableEntry::Rank("3")));
        assert_eq!(table_entry("  exitcode  : -9 (pid: 403)"), Some(TableEntry::Exit("-9")));
        assert_eq!(table_entry("  host      : node2"), None);
        assert!(names_first_failure("Root Cause (first observed failure):"));
        assert!(!names_first_failure("Root Cause: first observed failure"));
    }
}
