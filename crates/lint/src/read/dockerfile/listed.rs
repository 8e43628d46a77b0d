//! What the requirements files of an installation name, read from the build context.

use catalog::Catalog;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::command::Word;
use super::install::{self, Install};
use super::state::State;
use crate::file::Context;
use crate::location::OtherFile;
use project::requirements::lines::{bare, lines, option};

/// Files that name each other are followed so far.
const DEEPEST: usize = 8;

struct Reader<'r> {
    state: &'r State,
    context: &'r Context,
    wants: &'r mut BTreeSet<String>,
    /// Files of the context that this installation has: pip takes each once, however often it is named.
    read: BTreeSet<String>,
}

/// Adds what the requirements files of an installation name. Files that would have to be seen for it are
/// added to `wants`; what cannot be read makes the installation one of more than is named.
pub(super) fn read(install: &mut Install, state: &State, context: &Context, wants: &mut BTreeSet<String>) {
    let mut reader = Reader { state, context, wants, read: BTreeSet::new() };
    for file in std::mem::take(&mut install.files) {
        let whole = file.known && reader.file(install, &file.text, 0);
        install.more |= !whole;
    }
}

impl Reader<'_> {
    /// Reads the file at a path of the image; false where it cannot be found.
    fn file(&mut self, install: &mut Install, path: &str, depth: usize) -> bool {
        // uv also takes a pyproject.toml, which is another format.
        if depth > DEEPEST || !(path.ends_with(".txt") || path.ends_with(".in")) {
            return false;
        }
        let mut found = None;
        for candidate in self.state.files.candidates(path) {
            match self.context.get(&candidate) {
                Some(Some(text)) if found.is_none() => found = Some((candidate, text)),
                Some(_) => {}
                None => {
                    self.wants.insert(candidate);
                }
            }
        }
        let Some((candidate, text)) = found else { return false };
        if !self.read.insert(candidate.clone()) {
            return true;
        }
        let file = Rc::new(OtherFile { path: candidate, by: Some(install.line) });
        for line in lines(text) {
            let whole = match option(&line.text) {
                Some((name, value)) => self.option(install, path, name, &word(value, line.line), depth),
                None => requirement(self.state.catalog, install, &line.text, line.line, &file),
            };
            install.more |= !whole;
        }
        true
    }

    fn option(&mut self, install: &mut Install, path: &str, name: &str, value: &Word, depth: usize) -> bool {
        match name {
            "-r" | "--requirement" => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let folder = if path.starts_with('/') && folder.is_empty() { "/" } else { folder };
                return value.known
                    && self.file(install, &super::copied::join(folder, &value.text), depth + 1);
            }
            "-e" | "--editable" => return false,
            _ => {
                let value = (!value.text.is_empty()).then(|| value.clone());
                install.option_given(name.to_owned(), value, &self.state.pythons);
            }
        }
        true
    }
}

fn word(text: &str, line: usize) -> Word {
    Word { text: text.to_owned(), known: !text.contains('$'), quoted: true, line, ..Word::default() }
}

/// Adds a requirement; false where it cannot be read, or where nobody knows whether it holds here.
fn requirement(
    catalog: &'static Catalog,
    install: &mut Install,
    text: &str,
    line: usize,
    file: &Rc<OtherFile>,
) -> bool {
    let (text, marker) = match bare(text).split_once(';') {
        Some((text, marker)) => (text.trim(), Some(marker)),
        None => (bare(text), None),
    };
    let Some(mut requirement) = install::requirement(&word(text, line)) else { return false };
    match marker.map_or(Some(true), |marker| holds(catalog, marker, install.python.series.as_deref())) {
        Some(true) => {
            requirement.file = Some(Rc::clone(file));
            install.requirements.push(requirement);
            true
        }
        Some(false) => true,
        None => false,
    }
}

/// Whether a marker holds on Linux with this Python; `None` where the Python is not known and matters, and
/// where the processor does.
fn holds(catalog: &Catalog, marker: &str, series: Option<&str>) -> Option<bool> {
    if marker.contains("platform_machine") {
        return None;
    }
    let all = catalog.systems().pythons().iter().map(|row| row.python.as_str());
    let pythons: Vec<&str> = series.map_or_else(|| all.collect(), |series| vec![series]);
    let minors = pythons.iter().map(|python| python.strip_prefix("3.")?.parse().ok());
    resolve::marker::holds_with_all(marker, minors.collect::<Option<Vec<u32>>>()?, "x86_64", &[])
}

#[cfg(test)]
mod tests {
    use super::super::Dockerfile;
    use super::*;
    use catalog::testing::catalog;

    fn context(files: &[(&str, &str)]) -> Context {
        files.iter().map(|(name, text)| ((*name).to_owned(), Some((*text).to_owned()))).collect()
    }

    fn names(dockerfile: &str, files: &[(&str, &str)]) -> (Vec<String>, bool) {
        let file = Dockerfile::read(catalog(), dockerfile, &context(files));
        let (_, _, install) = file.installs().next().unwrap();
        (
            install.requirements.iter().map(|one| format!("{} {}", one.text, one.location())).collect(),
            install.more,
        )
    }

    #[test]
    fn files_are_followed() {
        let text = "FROM python:3.12\nWORKDIR /app\nCOPY . .\nRUN pip install a -r need/all.txt\n";
        let files = [("need/all.txt", "-r base.txt\nb==1\n"), ("need/base.txt", "# c\nd\n")];
        let (found, more) = names(text, &files);
        assert_eq!(found, ["a line 4", "d line 2 of need/base.txt", "b==1 line 2 of need/all.txt"]);
        assert!(!more);
    }

    /// It took 6 to the power of 8 readings.
    #[test]
    fn each_file_is_read_once() {
        let text = "FROM python:3.12\nCOPY . .\nRUN pip install -r r.txt -r r.txt\n";
        let itself = "-r ./r.txt\n".repeat(6) + "a\n";
        assert_eq!(names(text, &[("r.txt", &itself)]), (vec!["a line 7 of r.txt".to_owned()], false));
        let both = [("r.txt", "-r s.txt\n-r s.txt\na\n"), ("s.txt", "-r r.txt\nb\n")];
        assert_eq!(names(text, &both).0, ["b line 2 of s.txt", "a line 3 of r.txt"]);
    }

    #[test]
    fn markers_decide() {
        let text = "FROM python:3.12\nCOPY r.txt /r.txt\nRUN pip install -r /r.txt\n";
        let lines = "a; python_version < '3.9'\nb; sys_platform == 'win32'\nc; python_version >= '3.10'\n";
        assert_eq!(names(text, &[("r.txt", lines)]), (vec!["c line 3 of r.txt".to_owned()], false));
        let unknown = "FROM example/base:1\nCOPY r.txt /r.txt\nRUN pip install -r /r.txt\n";
        let (found, more) =
            names(unknown, &[("r.txt", "a; python_version < '3.9'\nb; sys_platform == 'linux'\n")]);
        assert_eq!((found, more), (vec!["b line 2 of r.txt".to_owned()], true));
        assert_eq!(holds(catalog(), "platform_machine == 'x86_64'", Some("3.12")), None);
        assert_eq!(holds(catalog(), "no marker", Some("3.12")), None);
    }

    #[test]
    fn what_cannot_be_read_is_more() {
        let files = [("r.txt", "-e .\n")];
        let text = "FROM python:3.12\nCOPY r.txt .\nRUN sed -i s/a/b/ r.txt\nRUN pip install -r r.txt\n";
        assert_eq!(names(text, &files), (Vec::new(), true));
        let text = "FROM python:3.12\nCOPY r.txt .\nRUN pip install -r r.txt\n";
        assert_eq!(names(text, &files), (Vec::new(), true));
        assert_eq!(names(text, &[]), (Vec::new(), true));
        let wants = Dockerfile::read(catalog(), text, &Context::new()).wants;
        assert!(wants.contains("r.txt"), "{wants:?}");
    }

    #[test]
    fn mounts_last_for_their_run() {
        let text = "FROM python:3.12\nRUN --mount=type=bind,source=r.txt,target=r.txt pip install -r r.txt\n\
            RUN pip install -r r.txt\n";
        let file = Dockerfile::read(catalog(), text, &context(&[("r.txt", "a\n")]));
        let counts: Vec<usize> = file.installs().map(|(_, _, install)| install.requirements.len()).collect();
        assert_eq!(counts, [1, 0]);
    }
}
