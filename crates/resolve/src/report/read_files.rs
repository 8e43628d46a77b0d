//! Which files of a project a report is about.

use diagnostic::layout::{Layout, wrapped};
use diagnostic::visible;
use diagnostic::words::{and, plural};
use schemars::JsonSchema;
use serde::Serialize;

use super::ProjectChange;

/// More entries than this are counted, but for --verbose.
const SHOWN: usize = 4;

/// The files of a project, read and not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProjectFiles {
    pub directory: String,
    /// Files whose requirements count.
    pub read: Vec<FileRead>,
    /// Files, and lines of them, that are not used.
    pub not_read: Vec<FileNotRead>,
    /// Where the files have no stack: what to change in them; null: they have one, or it is not known.
    pub change: Option<ProjectChange>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileRead {
    pub file: String,
    /// How many requirements it has; null: it is of a kind that has none (`.python-version`).
    pub requirements: Option<usize>,
    /// How many packages a lock has; null: it is none.
    pub packages: Option<usize>,
    /// Extras and groups whose requirements are among them: `extra gpu`, `group train`.
    pub parts: Vec<String>,
}

/// A file or line that is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileNotRead {
    pub file: String,
    /// From 1; null: the whole file.
    pub line: Option<usize>,
    /// `editable`, `runs code`.
    pub reason: String,
}

impl ProjectFiles {
    /// `Read requirements.txt (24 requirements) and .python-version. Not read: setup.py (runs code).`
    pub fn sentence(&self, verbose: bool) -> String {
        let mut read: Vec<String> = self.read.iter().map(FileRead::text).collect();
        let more = if verbose { 0 } else { read.len().saturating_sub(SHOWN) };
        read.truncate(read.len() - more);
        read.extend((more > 0).then(|| format!("{more} more (-v)")));
        let not_read = self.not_read(verbose);
        let mut text = format!("Read {}.", and(&read));
        if !not_read.is_empty() {
            text += &format!(" Not read: {}.", not_read.join(", "));
        }
        visible::line(&text).into_owned()
    }

    /// The same as the first lines of a report.
    pub(super) fn text(&self, layout: Layout) -> String {
        let mut text = String::new();
        wrapped(&mut text, &self.sentence(layout.verbose), "", "", layout);
        text + "\n"
    }

    /// Lines of a file that are left out for the same reason are one entry.
    fn not_read(&self, verbose: bool) -> Vec<String> {
        let mut groups: Vec<(&str, &str, Vec<usize>)> = Vec::new();
        for FileNotRead { file, line, reason } in &self.not_read {
            match groups.iter_mut().find(|(other, why, _)| other == file && why == reason) {
                Some((_, _, lines)) => lines.extend(line),
                None => groups.push((file, reason, line.iter().copied().collect())),
            }
        }
        let more = if verbose { 0 } else { groups.len().saturating_sub(SHOWN) };
        groups.truncate(groups.len() - more);
        let text = |(file, reason, lines): &(&str, &str, Vec<usize>)| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let lines = if lines.is_empty() { String::new() } else { format!(":{}", lines.join(",")) };
            format!("{file}{lines} ({reason})")
        };
        let more = (more > 0).then(|| format!("and {more} more (-v)"));
        groups.iter().map(text).chain(more).collect()
    }
}

impl FileRead {
    fn text(&self) -> String {
        let requirements = self.requirements.map(|count| plural(count, "requirement"));
        let count = requirements.or_else(|| self.packages.map(|count| plural(count, "package")));
        let words: Vec<String> = count.into_iter().chain(self.parts.iter().cloned()).collect();
        match words.is_empty() {
            true => self.file.clone(),
            false => format!("{} ({})", self.file, words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(read: &[(&str, Option<usize>)], not_read: &[(&str, Option<usize>, &str)]) -> ProjectFiles {
        let read = read.iter().map(|&(file, requirements)| FileRead {
            file: file.into(),
            requirements,
            packages: None,
            parts: Vec::new(),
        });
        let not_read = not_read.iter().map(|&(file, line, reason)| FileNotRead {
            file: file.into(),
            line,
            reason: reason.into(),
        });
        ProjectFiles {
            directory: ".".into(),
            read: read.collect(),
            not_read: not_read.collect(),
            change: None,
        }
    }

    #[test]
    fn one_line_says_what_was_read() {
        let read = files(&[("requirements.txt", Some(24)), (".python-version", None)], &[]);
        assert_eq!(read.sentence(false), "Read requirements.txt (24 requirements) and .python-version.");
        let mut parts = files(&[("pyproject.toml", Some(2))], &[]);
        parts.read[0].parts = vec!["extra gpu".to_owned(), "group train".to_owned()];
        assert_eq!(parts.sentence(false), "Read pyproject.toml (2 requirements, extra gpu, group train).");
        let not_read = [
            ("requirements.txt", Some(3), "editable"),
            ("requirements.txt", Some(7), "editable"),
            ("setup.py", None, "runs code"),
        ];
        assert_eq!(
            files(&[("requirements.txt", Some(1))], &not_read).sentence(false),
            "Read requirements.txt (1 requirement). Not read: requirements.txt:3,7 (editable), setup.py \
             (runs code)."
        );
    }

    #[test]
    fn many_entries_are_counted() {
        let names: Vec<String> = (0..7).map(|one| format!("{one}.txt")).collect();
        let not_read: Vec<(&str, Option<usize>, &str)> =
            names.iter().map(|name| (name.as_str(), None, "not chosen")).collect();
        let short = files(&[("a.txt", Some(2))], &not_read).sentence(false);
        assert!(short.ends_with("3.txt (not chosen), and 3 more (-v)."), "{short}");
        assert!(files(&[("a.txt", Some(2))], &not_read).sentence(true).contains("6.txt"));
    }
}
