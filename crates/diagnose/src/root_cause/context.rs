//! Context lines of a cause: where its own line only passes a failure on, the lines around it have the
//! reason.

use super::{Evidence, Sources, traceback};
use crate::log_prefix;
use crate::read::{Found, Read};

/// Context lines before and after, at most.
const LINES: usize = 4;

/// The lines around the first evidence of a cause, in order and without the evidence itself.
pub(super) fn around(reads: &[Read], sources: &Sources<'_>, cited: &[Evidence]) -> Vec<Evidence> {
    let Some(first) = cited.first() else { return Vec::new() };
    let Some(read) = sources.names.iter().position(|name| *name == first.file) else { return Vec::new() };
    let found = &reads[read].found;
    let exact = found.iter().find(|found| found.number == first.line);
    // The last line of a traceback: what stands before that tells more than its frames.
    let holds = |found: &&Found| {
        found.number < first.line
            && first.line - found.number <= found.after.len() as u64
            && traceback::begins(&found.text)
    };
    let block = found.iter().rfind(holds);
    let Some(start) = block.or(exact) else { return Vec::new() };
    let rank = |text: &str| log_prefix::parse(text, &|_| false).0.rank;
    let of_other = |text: &str| rank(text).is_some_and(|rank_of_it| Some(rank_of_it) != rank(&first.text));
    let informative = |(number, text): &(u64, &String)| {
        // Not the marks below a traceback's frames.
        text.contains(char::is_alphanumeric)
            && !of_other(text)
            && !cited.iter().any(|line| line.file == first.file && line.line == *number)
    };
    let before =
        numbered(&start.before, start.number.saturating_sub(start.before.len() as u64)).filter(informative);
    let rest = match (block, exact) {
        (Some(block), _) => numbered(&block.after, block.number + 1),
        (None, Some(exact)) => numbered(&exact.next, exact.number + 1),
        (None, None) => return Vec::new(),
    };
    let next = rest.filter(|(number, _)| *number > first.line).take(LINES).filter(informative);
    before.chain(next).map(|(number, text)| sources.evidence(read, number, text)).collect()
}

/// The last lines are shown for at most this many sources, and at most this many lines each.
const SOURCES: usize = 3;
const LAST: usize = 5;

/// The last non-empty lines of each source; none for many sources, and none of binary files.
pub(super) fn last(reads: &[Read], sources: &Sources<'_>) -> Vec<Evidence> {
    if reads.len() > SOURCES {
        return Vec::new();
    }
    let of = |(index, read): (usize, &Read)| {
        let first = read.lines + 1 - (read.tail.len() as u64).min(read.lines);
        let recorded = (1..).zip(&read.recorded).map(|(number, group)| (number, group.to_string()));
        let tail = numbered(&read.tail, first).map(|(number, text)| (number, text.clone()));
        let mut lines: Vec<Evidence> = recorded
            .chain(tail)
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(number, text)| sources.evidence(index, number, &text))
            .collect();
        lines.split_off(lines.len().saturating_sub(LAST))
    };
    let text = |(_, read): &(usize, &Read)| !read.binary;
    reads.iter().enumerate().filter(text).flat_map(of).collect()
}

fn numbered(lines: &[String], first: u64) -> impl Iterator<Item = (u64, &String)> {
    (first..).zip(lines)
}

#[cfg(test)]
mod tests {
    use crate::read::{self, Read};
    use crate::root_cause::{Sources, diagnose_text};
    use catalog::testing::catalog;

    fn around(log: &str) -> Vec<(u64, String)> {
        let cause = diagnose_text(catalog(), "a.log", log).causes.into_iter().next();
        cause.map(|cause| cause.context).into_iter().flatten().map(|line| (line.line, line.text)).collect()
    }

    #[test]
    fn context_has_lines_before_and_after_a_traceback() {
        let log = r#"start
config: lr = '3e-4'
Traceback (most recent call last):
  File "/srv/job/train.py", line 7, in <module>
    if lr <= 0.1:
TypeError: '<=' not supported between instances of 'float' and 'str'
bye
"#;
        let cited = [(1, "start"), (2, "config: lr = '3e-4'"), (7, "bye")];
        assert_eq!(around(log), cited.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn context_omits_lines_of_other_ranks() {
        let log = "[rank1]: all well\n[rank0]: lr is a text\n[rank0]: ValueError: 3\n[rank1]: all \
            well\n\n[rank0]: bye\n";
        assert_eq!(around(log), [(2, "[rank0]: lr is a text".to_owned()), (6, "[rank0]: bye".to_owned())]);
    }

    #[test]
    fn no_context_for_a_self_explanatory_cause() {
        assert!(around("a\nOSError: [Errno 28] No space left on device\nb\n").is_empty());
        assert!(around("a\nb\n").is_empty());
    }

    #[test]
    fn shows_last_lines_if_no_cause_is_known() {
        let last = |log: &str| {
            diagnose_text(catalog(), "a.log", log)
                .last
                .into_iter()
                .map(|line| line.line)
                .collect::<Vec<u64>>()
        };
        assert_eq!(last("a\nb\n\nc\nd\ne\nf\n\n"), [2, 4, 5, 6, 7]);
        assert_eq!(last("a"), [1]);
        assert!(last("").is_empty());
        assert!(last("OSError: [Errno 28] No space left on device\n").is_empty());
        assert!(last("Error: it does not\n").is_empty());
        let binary = [Read { binary: true, ..read::text(catalog(), "a", "b\n") }];
        assert!(super::last(&binary, &Sources::new(catalog(), &binary)).is_empty());
    }

    #[test]
    fn context_includes_last_line_without_newline() {
        assert_eq!(around("ValueError: 3\nwhy it is 3"), [(2, "why it is 3".to_owned())]);
    }
}
