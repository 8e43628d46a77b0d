//! Lines that look like an error, whether a signature knows them or not: by words in them (`build/words.rs`).

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use crate::torchrun;

/// What has one of the words and is no error.
const FINE: &[&str] = &[
    "exit code 0",
    "exit code: 0",
    "exit status 0",
    "exited with 0",
    "exited with code 0",
    "exitcode: 0",
    "exitcode 0",
    "exitcode=0",
    " 0 failed",
    "failed=0",
    "failed: 0",
    "0 uncorrectable",
    "Uncorrectable: 0",
    "fatal: not a git repository",
];

/// Whether one of the words at these places of a line makes it look like an error: what is fine takes away
/// the words that it overlaps, and no others.
pub(crate) fn any_counts(line: &str, words: &[Range<usize>]) -> bool {
    static LIST: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let fine: Vec<Range<usize>> = LIST
        .get_or_init(|| AhoCorasick::new(FINE).ok())
        .iter()
        .flat_map(|list| list.find_iter(line))
        .map(|found| found.range())
        .filter(|fine| !line[fine.end..].starts_with(|next: char| next.is_ascii_digit() || next == 'x'))
        .collect();
    words.iter().any(|word| !fine.iter().any(|fine| word.start < fine.end && fine.start < word.end))
}

/// What starts a block of lines that belong together: the lines after it tell more than itself.
const STARTS: &[&str] = &[
    "Traceback (most recent call last)",
    torchrun::CHILD_FAILED,
    torchrun::FIRST_FAILURE,
    "Exception raised from ",
    "The above exception was the direct cause",
    "During handling of the above exception",
    "Call Trace:",
    "panicked at ",
    "Fatal Python error",
];

/// Whether the lines after this one belong to it.
pub(crate) fn starts_block(line: &str) -> bool {
    static LIST: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    LIST.get_or_init(|| AhoCorasick::new(STARTS).ok()).as_ref().is_some_and(|list| list.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::{STARTS, starts_block};
    use crate::scan::Scanner;
    use catalog::testing::catalog;

    fn error_like(line: &str) -> bool {
        Scanner::new(catalog()).line(line).error_like
    }

    #[test]
    fn recognizes_error_lines() {
        for line in [
            "Traceback (most recent call last):",
            "RuntimeError: the frobnicator is out of cheese",
            "[rank3]: ValueError: 3",
            "AssertionError",
            "train.sh: line 3: 4711 Killed                  python train.py",
            "Killed",
            "[2025-01-01 10:00:00,000] [ERROR] [launch.py:315] 4 exits",
            "level=error msg=\"no\"",
            "thread 'main' panicked at src/main.rs:3:5:",
            "the process exited with exit code 1",
            "exit code 0 of rank 0; rank 1: Segmentation fault",
            "exit code 01",
            "10 failed, 3 passed",
            "错误: Connection refused",
        ] {
            assert!(error_like(line), "{line}");
        }
    }

    #[test]
    fn ignores_lines_that_are_not_errors() {
        for line in [
            "",
            "epoch 3: loss 0.14, error_rate 0.2",
            "the container exited with code 0",
            "exit code 0",
            "5 passed, 0 failed",
            "NCCL INFO comm 0x55 rank 0 nranks 8 - Init COMPLETE",
            "errors=0",
        ] {
            assert!(!error_like(line), "{line}");
        }
    }

    #[test]
    fn block_starts_are_recognized_as_errors() {
        for start in STARTS {
            assert!(starts_block(start));
            let known = !Scanner::new(catalog()).scan(start).is_empty();
            assert!(known || error_like(start), "{start}");
        }
        assert!(!starts_block("epoch 3"));
    }
}
