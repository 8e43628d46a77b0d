//! `setup.cfg` of setuptools: `[options]` and `[options.extras_require]`.

use std::str::FromStr;

use diagnostic::visible;
use pep440_rs::VersionSpecifiers;
use resolve::parse::package_name;

use crate::choice::{Choice, skip_extras};
use crate::declared::{Declared, DeclaredBy, Origin, PythonRange};
use crate::error::ProjectError;
use crate::project::{Project, ReadFile};
use crate::pyproject::Included;
use crate::requirements::lines::Line;
use crate::requirements::requirement;

/// A key and the lines of its value.
#[derive(Debug)]
struct Item<'t> {
    section: &'t str,
    key: String,
    line: usize,
    lines: Vec<Line>,
}

const OPTIONS: &str = "options";
const EXTRAS: &str = "options.extras_require";
const PYTHON: &str = "python_requires";

/// Whether a file declares requirements; others configure tools.
pub(crate) fn declares(text: &str) -> bool {
    items(text).iter().any(|item| {
        item.section == EXTRAS
            || item.section == OPTIONS && ["install_requires", PYTHON].contains(&item.key.as_str())
    })
}

/// Adds what the file declares; returns the requirements files that it names.
pub(crate) fn read(
    project: &mut Project,
    choice: &mut Choice,
    file: &str,
    text: &str,
) -> Result<Vec<Included>, ProjectError> {
    let at = project.read.len();
    project.read.push(ReadFile::new(file));
    let (mut count, mut files, mut left) = (0, Vec::new(), Vec::new());
    for item in items(text) {
        match (item.section, item.key.as_str()) {
            (OPTIONS, PYTHON) => {
                python(project, file, &item)?;
                continue;
            }
            (OPTIONS, "install_requires") => {}
            (EXTRAS, key) => {
                let name = package_name(key);
                choice.extras.offer(&name);
                if !choice.extras.is_asked(&name) {
                    left.push(name);
                    continue;
                }
                project.read[at].parts.push(format!("extra {name}"));
                project.extras.push(name);
            }
            _ => continue,
        }
        if let Some(named) = item.files() {
            files.extend(named);
            continue;
        }
        for line in item.entries() {
            requirement(project, file, text, &line, DeclaredBy::Main)?;
            count += 1;
        }
    }
    project.read[at].requirements = (count > 0).then_some(count);
    skip_extras(project, file, &left);
    Ok(files)
}

fn python(project: &mut Project, file: &str, item: &Item<'_>) -> Result<(), ProjectError> {
    let Some(line) = item.lines.first() else { return Ok(()) };
    let text = item.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
    let range = || ProjectError::Range {
        file: file.to_owned(),
        line: line.line,
        key: PYTHON,
        text: text.clone(),
        example: ">=3.10",
    };
    let specifiers = VersionSpecifiers::from_str(&text).map_err(|_| range())?;
    let origin = Origin {
        file: file.to_owned(),
        line: line.line,
        span: (item.lines.len() == 1).then(|| line.start..line.start + text.len()),
        text: visible::line(&format!("{PYTHON} {text}")).into_owned(),
        ..Origin::default()
    };
    project.python.push(Declared { value: PythonRange { specifiers }, origin });
    Ok(())
}

impl Item<'_> {
    /// The files of `file: requirements.txt, more.txt`.
    fn files(&self) -> Option<Vec<Included>> {
        let first = self.lines.first()?;
        let rest = first.text.strip_prefix("file:")?;
        let names = rest.split(',').map(|name| (name, first.line));
        let more = self.lines[1..].iter().flat_map(|line| line.text.split(',').map(|name| (name, line.line)));
        let names = names.chain(more).map(|(name, line)| (name.trim(), line));
        let included = |(name, line): (&str, usize)| Included { name: name.to_owned(), line };
        Some(names.filter(|(name, _)| !name.is_empty()).map(included).collect())
    }

    /// One requirement a line; in a value of one line they are separated by semicolons.
    fn entries(&self) -> Vec<Line> {
        let [only] = &self.lines[..] else { return self.lines.clone() };
        if only.line != self.line {
            return self.lines.clone();
        }
        let mut start = only.start;
        let mut entries = Vec::new();
        for part in only.text.split(';') {
            let blank = part.len() - part.trim_start().len();
            if !part.trim().is_empty() {
                entries.push(Line { text: part.trim().to_owned(), line: only.line, start: start + blank });
            }
            start += part.len() + 1;
        }
        entries
    }
}

/// The keys of a file with their values, without comments.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut section = "";
    let mut open = false;
    let content = text.trim_start_matches('\u{feff}');
    let mut offset = text.len() - content.len();
    for (index, whole) in content.split_inclusive('\n').enumerate() {
        let start = offset;
        offset += whole.len();
        let line = whole.trim_end();
        let trimmed = line.trim_start();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let value = |items: &mut Vec<Item<'_>>, from: usize| {
            let text = without_comment(&line[from..]);
            let blank = text.len() - text.trim_start().len();
            if let Some(item) = items.last_mut().filter(|_| !text.trim().is_empty()) {
                let start = start + from + blank;
                item.lines.push(Line { text: text.trim().to_owned(), line: index + 1, start });
            }
        };
        if trimmed.len() < line.len() {
            if open {
                value(&mut items, line.len() - trimmed.len());
            }
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            section = name.split(']').next().unwrap_or_default();
            open = false;
        } else if let Some(at) = line.find(['=', ':']) {
            items.push(Item {
                section,
                key: line[..at].trim().to_lowercase(),
                line: index + 1,
                lines: Vec::new(),
            });
            value(&mut items, at + 1);
            open = true;
        }
    }
    items
}

/// A comment follows a space; `#egg=` in an address is none.
fn without_comment(text: &str) -> &str {
    text.split(" #").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Selection;

    fn read(text: &str, extras: &[&str]) -> (Project, Vec<Included>) {
        let extras = extras.iter().map(|one| (*one).to_owned()).collect();
        let mut choice = Choice::of(&Selection { extras, ..Selection::default() });
        let mut project = Project::default();
        let files = super::read(&mut project, &mut choice, "setup.cfg", text).unwrap();
        (project, files)
    }

    const TEXT: &str = "\u{feff}[metadata]\r\nname = a\r\n[options]\r\npython_requires = >=3.8, <3.11\r\n\
        install_requires =\r\n    torch>=1.13,<2.1  # ours\r\n    # no\r\n\r\n    numpy<1.25 ; \
        python_version < '3.12'\r\ntests_require = x\r\n[options.extras_require]\r\nfast = ninja; \
        xformers==0.0.20\r\nDocs = file: docs.txt, more.txt\r\n[flake8]\r\nmax = 1\r\n";

    #[test]
    fn requirements_have_their_bytes() {
        let (project, files) = read(TEXT, &["fast", "docs"]);
        let shown: Vec<(usize, &str)> = project
            .dependencies
            .iter()
            .map(|one| (one.origin.line, one.origin.span.clone().map_or("", |span| &TEXT[span])))
            .collect();
        assert_eq!(shown, [(6, ">=1.13,<2.1"), (9, "<1.25"), (12, ""), (12, "==0.0.20")]);
        assert_eq!(project.dependencies[1].value.marker.as_deref(), Some("python_version < '3.12'"));
        let python = &project.python[0].origin;
        assert_eq!((&TEXT[python.span.clone().unwrap()], python.line), (">=3.8, <3.11", 4));
        let names: Vec<(&str, usize)> = files.iter().map(|one| (one.name.as_str(), one.line)).collect();
        assert_eq!(names, [("docs.txt", 13), ("more.txt", 13)]);
        assert_eq!(project.read[0].parts, ["extra fast", "extra docs"]);
        assert_eq!((project.read[0].requirements, project.extras.len()), (Some(4), 2));
    }

    #[test]
    fn extras_that_are_not_chosen_and_files_of_tools() {
        let (project, _) = read(TEXT, &[]);
        assert_eq!(project.not_read[0].reason.to_string(), "extras fast, docs: add --extra NAME");
        assert!(!declares("[flake8]\nmax = 1\n[options]\npackages = find:\n") && declares(TEXT));
        let mut choice = Choice::default();
        let broken = "[options]\npython_requires = 3.x\n";
        let error = super::read(&mut Project::default(), &mut choice, "setup.cfg", broken).unwrap_err();
        let expected = "setup.cfg:2: python_requires \"3.x\" is not a range of versions; example: >=3.10";
        assert_eq!(error.to_string(), expected);
    }
}
