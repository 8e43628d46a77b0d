//! Which files of a directory are read, and what is in them.

mod disk;
mod listed;
mod locked;

use std::path::{Path, PathBuf};

use diagnostic::words::and;
use host::file;

use crate::choice::Choice;
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::pyproject::{self, Included};
use crate::requirements::{self, Load, Loaded, Reader, lexical};
use crate::selection::{LockUse, Selection};
use crate::texts::Texts;
use crate::{python_version, setup_cfg};
use disk::Disk;
use listed::{Listed, USUAL};

pub(crate) const PYPROJECT: &str = "pyproject.toml";
const SETUP_CFG: &str = "setup.cfg";
const PYTHON_VERSION: &str = ".python-version";
const SETUP_PY: &str = "setup.py";

/// Files that declare dependencies in a way that is not read.
const OTHERS: &[(&str, Reason)] = &[
    (SETUP_PY, Reason::RunsCode),
    ("environment.yml", Reason::NotSupported),
    ("environment.yaml", Reason::NotSupported),
    ("Pipfile", Reason::NotSupported),
    ("pixi.toml", Reason::NotSupported),
    ("conda-lock.yml", Reason::NotSupported),
    ("pdm.lock", Reason::NotSupported),
    ("pixi.lock", Reason::NotSupported),
];

/// Whether a directory has a file that [`read`] would take requirements from.
pub fn has_project_files(directory: &Path) -> bool {
    let text = |name: &str| file::read(&directory.join(name)).ok().flatten();
    file::is_file(&directory.join(PYPROJECT))
        || Listed::of(directory).chosen().is_some()
        || locked::is_in(directory)
        || text(SETUP_CFG).is_some_and(|text| setup_cfg::declares(&text))
}

/// Reads the files of a project.
pub fn read(selection: &Selection) -> Result<Project, ProjectError> {
    read_texts(selection, &mut Texts::default())
}

/// [`read`], with other texts in place of some files' own; adds the texts that were read.
pub fn read_texts(selection: &Selection, texts: &mut Texts) -> Result<Project, ProjectError> {
    let directory = &selection.directory;
    if !file::is_directory(directory) {
        return Err(ProjectError::NotADirectory { name: directory.display().to_string() });
    }
    let disk = Disk::of(selection)?;
    let mut load = |path: &Path| disk.load_with(path, texts);
    let mut project = Project { directory: directory.clone(), ..Project::default() };
    let mut choice = Choice::of(selection);
    let own = read_metadata(&mut project, &mut choice, directory, &mut load)?;
    let listed = Listed::of(directory);
    let mut reader = Reader::new(&mut load);
    reader.has_own = own.found;
    for Named { file, included } in &own.files {
        let by = requirements::Included { file, line: included.line, named: &included.name };
        reader.file(&mut project, &directory.join(&included.name), DeclaredBy::Main, Some(by))?;
    }
    let used = if selection.requirements.is_empty() { selection.lock } else { LockUse::Ignored };
    let counts = locked::read(&mut project, directory, used, reader.load())?;
    let chosen = chosen(selection, &listed, own.files.is_empty());
    for path in chosen.into_iter().filter(|_| !counts) {
        reader.file(&mut project, &path, DeclaredBy::Main, None)?;
    }
    // `-e .[train]` chooses an extra of files that were read before.
    let more: Vec<String> = reader.extras.drain(..).filter(|name| !selection.extras.contains(name)).collect();
    if !more.is_empty() {
        let mut selection = selection.clone();
        selection.extras.extend(more);
        return read_texts(&selection, texts);
    }
    read_python_version(&mut project, directory, &mut load)?;
    if project.read.is_empty() && !counts {
        return Err(nothing(directory, &listed));
    }
    choice.check()?;
    listed.others(&mut project);
    for (name, reason) in OTHERS.iter().filter(|(name, _)| file::is_file(&directory.join(name))) {
        let file = shown(directory, name);
        project.not_read.push(NotRead { file, line: None, reason: reason.clone() });
    }
    Ok(project)
}

/// The requirements files to read. Next to files that the metadata names, only `requirements.txt` counts.
fn chosen(selection: &Selection, listed: &Listed, none_named: bool) -> Vec<PathBuf> {
    if !selection.requirements.is_empty() {
        return selection.requirements.clone();
    }
    let usual = lexical(&selection.directory.join(USUAL[0]));
    listed.chosen().into_iter().filter(|path| none_named || *path == usual).collect()
}

/// What the files that declare the project itself say.
#[derive(Debug, Default)]
struct Metadata {
    /// Whether one of them declares it.
    found: bool,
    /// Whether one of them has its dependencies.
    dependencies: bool,
    files: Vec<Named>,
}

/// A requirements file, and the file that names it.
#[derive(Debug)]
struct Named {
    file: String,
    included: Included,
}

fn read_metadata(
    project: &mut Project,
    choice: &mut Choice,
    directory: &Path,
    load: Load<'_>,
) -> Result<Metadata, ProjectError> {
    let mut metadata = Metadata::default();
    for name in [PYPROJECT, SETUP_CFG] {
        let path = lexical(&directory.join(name));
        let file = path.display().to_string();
        let included = match load(&path)? {
            Loaded::Text(text) if name == PYPROJECT => {
                let read = pyproject::read(project, choice, &file, &text)?;
                metadata.found = read.own;
                metadata.dependencies = read.dependencies;
                read.files
            }
            Loaded::Text(text) if !setup_cfg::declares(&text) => continue,
            Loaded::Text(_) if metadata.dependencies => {
                project.not_read.push(NotRead { file, line: None, reason: Reason::Metadata });
                continue;
            }
            Loaded::Text(text) => {
                metadata.found = true;
                setup_cfg::read(project, choice, &file, &text)?
            }
            Loaded::Missing => continue,
            Loaded::Refused(reason) => {
                project.not_read.push(NotRead { file, line: None, reason });
                continue;
            }
        };
        let named = included.into_iter().map(|included| Named { file: file.clone(), included });
        metadata.files.extend(named);
    }
    Ok(metadata)
}

/// A name as it is shown.
fn shown(directory: &Path, name: &str) -> String {
    lexical(&directory.join(name)).display().to_string()
}

fn read_python_version(project: &mut Project, directory: &Path, load: Load<'_>) -> Result<(), ProjectError> {
    let path = lexical(&directory.join(PYTHON_VERSION));
    let name = path.display().to_string();
    match load(&path)? {
        Loaded::Text(text) => match python_version::read(&name, &text) {
            Ok(None) => {}
            Ok(Some(python)) => {
                project.python.push(python);
                project.read.push(ReadFile::new(&name));
            }
            Err(not_read) => project.not_read.push(not_read),
        },
        Loaded::Missing => {}
        Loaded::Refused(reason) => project.not_read.push(NotRead { file: name, line: None, reason }),
    }
    Ok(())
}

fn nothing(directory: &Path, listed: &Listed) -> ProjectError {
    let directory = directory.display().to_string();
    let candidates: Vec<String> = listed.files.iter().map(|path| path.display().to_string()).collect();
    if candidates.is_empty() {
        if file::is_directory(&Path::new(&directory).join(USUAL[0])) {
            let file = shown(Path::new(&directory), USUAL[0]);
            return ProjectError::Io { file, why: "it is a directory".to_owned() };
        }
        let looked_for = format!("requirements.txt, {PYPROJECT}, {SETUP_CFG}, a lock or {PYTHON_VERSION}");
        return ProjectError::Nothing { directory, looked_for };
    }
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    ProjectError::Choose { directory, candidates: and(&candidates) }
}

#[cfg(test)]
mod tests;
