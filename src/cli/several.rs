//! `--from a.json b.json CONTEXT`: several values behind one option, and still a word of its own behind them.
//!
//! clap gives every following word to an option that takes several, so that a folder or an image behind them
//! would be a snapshot that cannot be read. Here each snapshot gets an option of its own before clap sees the
//! line.

use std::ffi::{OsStr, OsString};

/// The option that takes several snapshots.
const OPTION: &str = "--from";

/// The words with `--from` before each snapshot; `is_file` tells whether there is a file of that name.
pub(super) fn spread(
    words: impl IntoIterator<Item = OsString>,
    is_file: fn(&OsStr) -> bool,
) -> Vec<OsString> {
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

/// Whether a word behind a snapshot is one more: a name that ends as theirs do, or a file.
fn snapshot(word: &OsStr, is_file: fn(&OsStr) -> bool) -> bool {
    let text = word.to_string_lossy();
    !text.starts_with('-') && (text.ends_with(".json") || is_file(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_text(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let out = spread(words, |word| word == "recorded");
        out.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
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
        ];
        for (line, expected) in cases {
            assert_eq!(spread_text(line), expected);
        }
    }
}
