//! `--from a.json b.json CONTEXT`: several values behind one option, and still a word of its own behind them.
//!
//! clap gives every following word to an option that takes several, so that a folder or an image behind them
//! would be a snapshot that cannot be read. Here each snapshot gets an option of its own before clap sees the
//! line.

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, Command, CommandFactory};

use super::{Cli, tips};

/// The option that takes several snapshots.
const OPTION: &str = "--from";

/// The words, program name first, with `--from` before each snapshot if the command takes several; `is_file`
/// tells whether there is a file of that name.
pub(super) fn spread(
    words: impl IntoIterator<Item = OsString>,
    is_file: fn(&OsStr) -> bool,
) -> Vec<OsString> {
    let words: Vec<OsString> = words.into_iter().collect();
    if !repeats(tips::named(&Cli::command(), &words)) {
        return words;
    }
    let mut out = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            out.push(word);
            out.extend(words);
            return out;
        }
        let text = word.to_string_lossy();
        let alone = text == OPTION;
        let attached = text.strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('='));
        out.push(word);
        if alone {
            out.extend(words.next());
        }
        while (alone || attached) && words.peek().is_some_and(|word| snapshot(word, is_file)) {
            out.push(OPTION.into());
            out.extend(words.next());
        }
    }
    out
}

/// Whether the command takes several snapshots.
fn repeats(command: &Command) -> bool {
    let mut snapshots = command.get_arguments().filter(|one| one.get_long() == OPTION.strip_prefix("--"));
    snapshots.any(|one| matches!(one.get_action(), ArgAction::Append))
}

/// Whether a word behind a snapshot is one more: a name that ends as theirs do, or a file.
fn snapshot(word: &OsStr, is_file: fn(&OsStr) -> bool) -> bool {
    let text = word.to_string_lossy();
    !text.starts_with('-') && (text.ends_with(".json") || is_file(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_text(line: &str) -> String {
        let words = ["envdoc"].into_iter().chain(line.split(' ')).map(OsString::from);
        let out = spread(words, |word| word == "recorded");
        out.iter().skip(1).map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments_after_the_snapshots_are_unchanged() {
        let cases = [
            ("build --from a.json b.json ctx", "build --from a.json --from b.json ctx"),
            ("build --from a.json b.json", "build --from a.json --from b.json"),
            ("build ctx --from a.json recorded --push", "build ctx --from a.json --from recorded --push"),
            ("inspect --from a.json team/train:1.0", "inspect --from a.json team/train:1.0"),
            ("inspect --from=a.json b.json nginx", "inspect --from=a.json --from b.json nginx"),
            ("render --from a.json dockerfile", "render --from a.json dockerfile"),
            ("build --from", "build --from"),
            ("build --from a.json -- b.json", "build --from a.json -- b.json"),
            ("build a.json", "build a.json"),
            ("cluster check --from a.json b.json", "cluster check --from a.json --from b.json"),
            ("--quiet resolve --from a.json recorded", "--quiet resolve --from a.json --from recorded"),
        ];
        for (line, expected) in cases {
            assert_eq!(spread_text(line), expected);
        }
    }

    #[test]
    fn a_file_behind_the_only_snapshot_is_no_snapshot() {
        for line in
            ["diagnose --from a.json b.log", "check --from a.json b.json", "lint --from a.json b.json"]
        {
            let words = ["envdoc"].into_iter().chain(line.split(' ')).map(OsString::from);
            let out = spread(words.clone(), |_| true);
            assert_eq!(out, words.collect::<Vec<_>>(), "{line}");
        }
    }
}
