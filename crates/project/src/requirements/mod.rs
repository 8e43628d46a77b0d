//! Requirements files of pip, with the files that they include.

pub mod lines;

use std::path::{Component, Path, PathBuf};

use diagnostic::visible;
use resolve::parse::package_name;

use crate::declared::{Declared, DeclaredBy, Index, IndexRole, Origin};
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::requirement::{self, Parsed};
use crate::url::without_login;
use lines::{Line, bare, lines, option};

/// Files include each other so deep.
pub const DEPTH_LIMIT: usize = 8;
/// Lines of all files together.
pub const LINES_LIMIT: usize = 100_000;

/// What is at a path.
#[derive(Debug)]
pub enum Loaded {
    Text(String),
    Missing,
    /// It is not read, for this reason.
    Refused(Reason),
}

/// Gives the text of a file by its path relative to the working directory.
pub type Load<'l> = &'l mut dyn FnMut(&Path) -> Result<Loaded, ProjectError>;

/// Reads requirements files into a project.
pub struct Reader<'l> {
    load: Load<'l>,
    /// The files that are open, the outermost first.
    chain: Vec<PathBuf>,
    done: Vec<(PathBuf, DeclaredBy)>,
    lines: usize,
    /// Whether the files that declare the project itself are read.
    pub(crate) has_own: bool,
    /// The extras of the project that its requirements name: `-e .[train]`.
    pub(crate) extras: Vec<String>,
}

/// Where a file is included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Included<'i> {
    pub(crate) file: &'i str,
    pub(crate) line: usize,
    /// As it is written there.
    pub(crate) named: &'i str,
}

impl<'l> Reader<'l> {
    pub fn new(load: Load<'l>) -> Reader<'l> {
        Reader { load, chain: Vec::new(), done: Vec::new(), lines: 0, has_own: false, extras: Vec::new() }
    }

    /// Where it takes the texts from.
    pub(crate) fn load(&mut self) -> Load<'_> {
        &mut *self.load
    }

    /// Adds what a file and those that it includes declare.
    pub(crate) fn file(
        &mut self,
        project: &mut Project,
        path: &Path,
        kind: DeclaredBy,
        by: Option<Included<'_>>,
    ) -> Result<(), ProjectError> {
        let path = lexical(path);
        self.allowed(&path, by)?;
        if self.done.contains(&(path.clone(), kind)) {
            return Ok(());
        }
        let name = path.display().to_string();
        let Some(text) = self.text(project, &path, by)? else { return Ok(()) };
        self.done.push((path.clone(), kind));
        self.lines += text.lines().count();
        if self.lines > LINES_LIMIT {
            return Err(ProjectError::TooLong { file: name, limit: LINES_LIMIT });
        }
        let index = project.read.len();
        project.read.push(ReadFile::new(&name));
        self.chain.push(path.clone());
        let mut own = 0;
        for line in lines(&text) {
            match option(&line.text) {
                Some(found) => self.option(project, &path, found, &line, kind)?,
                None if self.is_own(bare(&line.text)) => {}
                None => {
                    requirement(project, &name, &text, &line, kind)?;
                    own += 1;
                }
            }
        }
        self.chain.pop();
        project.read[index].requirements = Some(own);
        Ok(())
    }

    /// Whether a requirement is the project itself: `.[train]`; takes its extras.
    fn is_own(&mut self, text: &str) -> bool {
        let (path, extras) = text.split_once('[').unwrap_or((text, ""));
        if !self.has_own || path.trim().trim_end_matches('/') != "." {
            return false;
        }
        let names = extras.split(']').next().unwrap_or_default().split(',').map(package_name);
        self.extras.extend(names.filter(|name| !name.is_empty()));
        true
    }

    /// The text of a file; `None`: it is not used, and the project says so.
    fn text(
        &mut self,
        project: &mut Project,
        path: &Path,
        by: Option<Included<'_>>,
    ) -> Result<Option<String>, ProjectError> {
        let name = path.display().to_string();
        match ((self.load)(path)?, by) {
            (Loaded::Text(text), _) => Ok(Some(text)),
            (Loaded::Missing, Some(Included { file, line, named })) => {
                Err(ProjectError::Missing { file: file.into(), line, named: named.into() })
            }
            (Loaded::Missing, None) => Err(ProjectError::Io { file: name, why: "no such file".into() }),
            (Loaded::Refused(reason), None) => Err(ProjectError::Io { file: name, why: reason.to_string() }),
            (Loaded::Refused(reason), Some(_)) => {
                project.not_read.push(NotRead { file: name, line: None, reason });
                Ok(None)
            }
        }
    }

    fn allowed(&self, path: &Path, by: Option<Included<'_>>) -> Result<(), ProjectError> {
        let Some(Included { file, line, named }) = by else { return Ok(()) };
        let file = file.to_owned();
        if let Some(at) = self.chain.iter().position(|open| open == path) {
            let names = self.chain[at..].iter().map(PathBuf::as_path).chain([path]);
            let chain = names.map(|one| one.display().to_string()).collect();
            return Err(ProjectError::Circular { file, line, again: named.to_owned(), chain });
        }
        match self.chain.len() > DEPTH_LIMIT {
            true => Err(ProjectError::TooDeep { file, line, limit: DEPTH_LIMIT }),
            false => Ok(()),
        }
    }

    fn option(
        &mut self,
        project: &mut Project,
        path: &Path,
        (name, value): (&str, &str),
        line: &Line,
        kind: DeclaredBy,
    ) -> Result<(), ProjectError> {
        let file = path.display().to_string();
        let value = value.trim().trim_matches(['"', '\'']);
        let mut not_read = |reason| {
            project.not_read.push(NotRead { file: file.clone(), line: Some(line.line), reason });
        };
        match (name, requirement::variable(value)) {
            ("-r" | "--requirement" | "-c" | "--constraint", None) => {
                if value.contains("://") {
                    not_read(Reason::Address);
                    return Ok(());
                }
                let constraint = name == "-c" || name == "--constraint";
                let kind = if constraint { DeclaredBy::Constraint } else { kind };
                let folder = path.parent().unwrap_or(Path::new(""));
                let by = Included { file: &file, line: line.line, named: value };
                return self.file(project, &folder.join(value), kind, Some(by));
            }
            ("-e" | "--editable", _) if self.is_own(value) => {}
            ("-e" | "--editable", _) => not_read(Reason::Editable),
            ("-i" | "--index-url" | "--pypi-url", _) => {
                index(project, &file, line, IndexRole::Default, value)
            }
            ("--extra-index-url", _) => index(project, &file, line, IndexRole::Extra, value),
            ("-f" | "--find-links", _) => index(project, &file, line, IndexRole::FindLinks, value),
            (_, Some(variable)) => not_read(Reason::Variable { name: variable.to_owned() }),
            (name, None) if !OPTIONS.contains(&name) => {
                not_read(Reason::UnknownOption { name: name.to_owned() });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Options that lines of a requirements file can have (pip: src/pip/_internal/req/req_file.py,
/// SUPPORTED_OPTIONS).
pub const OPTIONS: &[&str] = &[
    "--index-url",
    "--pypi-url",
    "--extra-index-url",
    "--no-index",
    "--constraint",
    "--requirement",
    "--editable",
    "--find-links",
    "--no-binary",
    "--only-binary",
    "--prefer-binary",
    "--require-hashes",
    "--pre",
    "--trusted-host",
    "--use-feature",
];

fn index(project: &mut Project, file: &str, line: &Line, role: IndexRole, value: &str) {
    let (url, has_login) = without_login(value);
    let name = match role {
        IndexRole::Default => "--index-url",
        IndexRole::Extra => "--extra-index-url",
        _ => "--find-links",
    };
    let text = visible::line(&format!("{name} {url}")).into_owned();
    let origin = Origin { file: file.to_owned(), line: line.line, span: None, text, ..Origin::default() };
    project
        .indexes
        .push(Declared { value: Index { url, role, has_login, name: None, name_span: None }, origin });
}

pub(crate) fn requirement(
    project: &mut Project,
    file: &str,
    whole: &str,
    line: &Line,
    kind: DeclaredBy,
) -> Result<(), ProjectError> {
    let text = bare(&line.text);
    let parsed = requirement::parse(text).map_err(|why| ProjectError::Requirement {
        file: file.to_owned(),
        line: line.line,
        text: text.to_owned(),
        why,
    })?;
    let mut value = match parsed {
        Parsed::Dependency(dependency) => dependency,
        Parsed::Elsewhere(reason) => {
            project.not_read.push(NotRead { file: file.to_owned(), line: Some(line.line), reason });
            return Ok(());
        }
    };
    value.kind = kind;
    // `--hash=sha256:…` and `--hash sha256:…`
    let behind = line.text.split(" --hash").skip(1).map(|rest| rest.trim_start_matches(['=', ' ', '\t']));
    value.hashes = behind.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect();
    let origin = Origin {
        file: file.to_owned(),
        line: line.line,
        // Only where the file has the same bytes: not where a line goes on within the specifier.
        span: requirement::specifier(text)
            .map(|range| line.start + range.start..line.start + range.end)
            .filter(|range| whole.get(range.clone()) == requirement::specifier(text).map(|one| &text[one])),
        text: requirement::shown(text),
        ..Origin::default()
    };
    project.dependencies.push(Declared { value, origin });
    Ok(())
}

/// A path without `.`, and without `..` behind a name.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
