//! `# envdoc: ignore=RULE[,RULE]`: what a file itself wants left out.
//!
//! At the head of a file it holds for the whole file; behind an instruction, in it or on the lines above it,
//! for that instruction; in YAML for its own line, or for the next one where it stands alone.

use std::collections::{BTreeMap, BTreeSet};

use super::read::dockerfile::Dockerfile;

/// Ignored rules and their lines.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// Rules that are ignored in the whole file.
    everywhere: BTreeSet<String>,
    /// Of each rule: first and last lines, both ascending.
    ranges: BTreeMap<String, Vec<(usize, usize)>>,
}

impl Ignores {
    /// Whether a rule is left out on a line.
    pub(crate) fn cover(&self, rule: &str, line: usize) -> bool {
        let ranges = self.ranges.get(rule).map_or(&[][..], Vec::as_slice);
        let behind = ranges.partition_point(|(first, _)| *first <= line);
        self.everywhere.contains(rule) || ranges[..behind].last().is_some_and(|(_, last)| line <= *last)
    }

    /// The comments of a Dockerfile.
    pub(crate) fn of_dockerfile(text: &str, file: &Dockerfile) -> Ignores {
        let mut ignores = Ignores::default();
        let first = file.instructions.first().map_or(usize::MAX, |first| first.line);
        for (line, comment) in asked(text) {
            let index = file.instructions.partition_point(|one| one.last < line);
            if line < first {
                ignores.everywhere.extend(rules(comment));
            } else if let Some(one) = file.instructions.get(index) {
                ignores.add(comment, one.line.min(line), one.last);
            }
        }
        ignores
    }

    /// The comments of a file in YAML.
    pub(crate) fn of_lines(text: &str) -> Ignores {
        let mut ignores = Ignores::default();
        let alone = |line: &str| line.trim_start().starts_with('#') || line.trim().is_empty();
        let lines: Vec<bool> = text.lines().map(alone).collect();
        let first = lines.iter().position(|alone| !alone).unwrap_or(lines.len()) + 1;
        // The line that is next with more than a comment, from 1.
        let mut next = 0;
        for (line, comment) in asked(text) {
            if line < first {
                ignores.everywhere.extend(rules(comment));
            } else if lines.get(line - 1) == Some(&true) {
                if next <= line {
                    let skip = lines[line..].iter().position(|alone| !alone);
                    next = skip.map_or(line, |skip| line + skip + 1);
                }
                ignores.add(comment, next, next);
            } else {
                ignores.add(comment, line, line);
            }
        }
        ignores
    }

    fn add(&mut self, comment: &str, first: usize, last: usize) {
        for rule in rules(comment) {
            self.ranges.entry(rule).or_default().push((first, last));
        }
    }
}

/// The rules that a comment names.
fn rules(comment: &str) -> impl Iterator<Item = String> {
    comment.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The lines that ask for it, and the rules that they name.
fn asked(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let (_, comment) = line.split_once('#')?;
        let rest = comment.split_once("envdoc:")?.1.trim_start().strip_prefix("ignore=")?;
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-, ".contains(letter));
        Some((index + 1, rest[..end.unwrap_or(rest.len())].trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;
    use catalog::testing::catalog;

    #[test]
    fn in_a_dockerfile() {
        let text = "FROM a\n# envdoc: ignore=one,two\nRUN b && \\\n    c\n\
            RUN d && \\\n    # envdoc: ignore=three\n    e\nRUN f\n";
        let ignores = Ignores::of_dockerfile(text, &Dockerfile::read(catalog(), text, &Context::new()));
        assert!(ignores.cover("one", 3) && ignores.cover("two", 4) && ignores.cover("three", 5));
        assert!(!ignores.cover("one", 1) && !ignores.cover("one", 5) && !ignores.cover("three", 8));
        let head = "# envdoc: ignore=one\nFROM a\nRUN b\n";
        assert!(
            Ignores::of_dockerfile(head, &Dockerfile::read(catalog(), head, &Context::new())).cover("one", 3)
        );
    }

    #[test]
    fn in_yaml() {
        let text = "services:\n  # envdoc: ignore=one (why)\n  a:\n    b: c # envdoc: ignore=two\n";
        let ignores = Ignores::of_lines(text);
        assert!(ignores.cover("one", 3) && !ignores.cover("one", 4));
        assert!(ignores.cover("two", 4) && !ignores.cover("two", 3));
    }
}
