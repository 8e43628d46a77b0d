//! Which files of a directory are read, and what is in them.

use std::io;
use std::path::{Path, PathBuf};

use diagnostic::units::memory;
use diagnostic::words::and;
use host::file;

use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::requirements::{Included, Loaded, Reader, lexical};
use crate::texts::Texts;
use crate::{pyproject, python_version};

mod locked;

pub use locked::LockUse;

/// The largest file that is read.
const FILE_LIMIT_BYTES: u64 = 4 << 20;

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub directory: PathBuf,
    /// Requirements files, instead of those that are chosen by their names. Relative to the working
    /// directory.
    pub requirements: Vec<PathBuf>,
    pub lock: LockUse,
}

/// One of these is read: the first that exists.
const USUAL: &[&str] =
    &["requirements.txt", "requirements/base.txt", "requirements/main.txt", "requirements/prod.txt"];
pub(crate) const PYPROJECT: &str = "pyproject.toml";
const PYTHON_VERSION: &str = ".python-version";

/// Files that declare dependencies in a way that is not read.
const OTHERS: &[(&str, Reason)] = &[
    ("setup.py", Reason::RunsCode),
    ("setup.cfg", Reason::NotSupported),
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
    let exists = |name: &&str| file::is_file(&directory.join(name));
    exists(&PYPROJECT) || Listed::of(directory).chosen().is_some()
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
    let mut project = Project { directory: directory.clone(), ..Project::default() };
    let disk = Disk::of(selection)?;
    let mut load = |path: &Path| disk.load_with(path, texts);
    let included = read_pyproject(&mut project, directory, &mut load)?;
    let listed = Listed::of(directory);
    let locked = selection.lock != LockUse::Ignored && selection.requirements.is_empty();
    let chosen = match (&selection.requirements[..], included.is_empty()) {
        ([], true) if locked && locked::is_in(directory) => Vec::new(),
        ([], true) => listed.chosen().into_iter().collect(),
        ([], false) => Vec::new(),
        (named, _) => named.to_vec(),
    };
    let mut reader = Reader::new(&mut load);
    let pyproject = shown(directory, PYPROJECT);
    for name in &included {
        let by = Included { file: &pyproject, line: 1, named: name };
        reader.file(&mut project, &directory.join(name), DeclaredBy::Main, Some(by))?;
    }
    for path in &chosen {
        reader.file(&mut project, path, DeclaredBy::Main, None)?;
    }
    read_python_version(&mut project, directory, &mut load)?;
    let obeyed = locked && selection.lock == LockUse::Obeyed;
    locked::read(&mut project, directory, obeyed, &mut load)?;
    if project.read.is_empty() {
        return Err(nothing(directory, &listed));
    }
    listed.others(&mut project);
    for (name, reason) in OTHERS.iter().filter(|(name, _)| file::is_file(&directory.join(name))) {
        let file = shown(directory, name);
        project.not_read.push(NotRead { file, line: None, reason: reason.clone() });
    }
    Ok(project)
}

/// A name as it is shown.
fn shown(directory: &Path, name: &str) -> String {
    lexical(&directory.join(name)).display().to_string()
}

fn read_pyproject(
    project: &mut Project,
    directory: &Path,
    load: &mut dyn FnMut(&Path) -> Result<Loaded, ProjectError>,
) -> Result<pyproject::Files, ProjectError> {
    let path = lexical(&directory.join(PYPROJECT));
    let name = path.display().to_string();
    match load(&path)? {
        Loaded::Text(text) => pyproject::read(project, &name, &text),
        Loaded::Missing => Ok(Vec::new()),
        Loaded::Refused(reason) => {
            project.not_read.push(NotRead { file: name, line: None, reason });
            Ok(Vec::new())
        }
    }
}

fn read_python_version(
    project: &mut Project,
    directory: &Path,
    load: &mut dyn FnMut(&Path) -> Result<Loaded, ProjectError>,
) -> Result<(), ProjectError> {
    let path = lexical(&directory.join(PYTHON_VERSION));
    let name = path.display().to_string();
    match load(&path)? {
        Loaded::Text(text) => match python_version::read(&name, &text) {
            Ok(None) => {}
            Ok(Some(python)) => {
                project.python.push(python);
                project.read.push(ReadFile { name, requirements: None, packages: None });
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
        let looked_for = format!("requirements.txt, {PYPROJECT} or {PYTHON_VERSION}");
        return ProjectError::Nothing { directory, looked_for };
    }
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    ProjectError::Choose { directory, candidates: and(&candidates) }
}

/// The requirements files of a directory, sorted.
#[derive(Debug)]
struct Listed {
    directory: PathBuf,
    files: Vec<PathBuf>,
}

impl Listed {
    fn of(directory: &Path) -> Listed {
        let of_folder = |folder: PathBuf, any: bool| {
            let is_one = move |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let named = any || name.starts_with("requirements");
                named && (name.ends_with(".txt") || name.ends_with(".in")) && file::is_file(path)
            };
            file::entries(&folder).into_iter().filter(is_one)
        };
        let own = of_folder(directory.to_owned(), false);
        let files: Vec<PathBuf> =
            own.chain(of_folder(directory.join("requirements"), true)).map(|path| lexical(&path)).collect();
        // Of a file and what a tool makes of it the latter is what is installed.
        let compiled = |path: &PathBuf| {
            path.extension().is_some_and(|one| one == "in") && files.contains(&path.with_extension("txt"))
        };
        let files = files.iter().filter(|path| !compiled(path)).cloned().collect();
        Listed { directory: directory.to_owned(), files }
    }

    fn chosen(&self) -> Option<PathBuf> {
        let in_directory = |name: &&str| lexical(&self.directory.join(name));
        let usual = USUAL.iter().map(in_directory);
        let sources = USUAL.iter().map(|name| in_directory(name).with_extension("in"));
        usual.chain(sources).find(|path| self.files.contains(path)).or(match &self.files[..] {
            [only] => Some(only.clone()),
            _ => None,
        })
    }

    /// Adds those that were not read.
    fn others(self, project: &mut Project) {
        for path in self.files {
            let file = path.display().to_string();
            let known = project.read.iter().any(|one| one.name == file)
                || project.not_read.iter().any(|one| one.file == file && one.line.is_none());
            if !known {
                let reason = Reason::NotChosen { kind: kind(&path) };
                project.not_read.push(NotRead { file, line: None, reason });
            }
        }
    }
}

/// The purpose of a requirements file, by the words in its name.
fn kind(path: &Path) -> Option<&'static str> {
    const KINDS: &[(&str, &[&str])] = &[
        ("development", &["dev", "develop", "development", "test", "tests", "testing", "lint", "ci"]),
        ("documentation", &["doc", "docs"]),
        ("constraints", &["constraints"]),
    ];
    let stem = path.file_stem()?.to_string_lossy().to_lowercase();
    let words: Vec<&str> = stem.split(['-', '_', '.']).collect();
    KINDS.iter().find(|(_, names)| names.iter().any(|name| words.contains(name))).map(|(kind, _)| *kind)
}

/// The directories below which files are read.
#[derive(Debug)]
struct Disk {
    roots: Vec<PathBuf>,
}

impl Disk {
    fn of(selection: &Selection) -> Result<Disk, ProjectError> {
        let real = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            file::canonical(path).map_err(|error| unreadable(path, &error))
        };
        let own = real(&selection.directory)?;
        let repository = own.ancestors().find(|folder| file::exists(&folder.join(".git")));
        let mut roots = vec![repository.unwrap_or(&own).to_owned()];
        // A file that a person named, and those next to it.
        for path in &selection.requirements {
            roots.push(real(path.parent().unwrap_or(Path::new(".")))?);
        }
        Ok(Disk { roots })
    }

    fn load_with(&self, path: &Path, texts: &mut Texts) -> Result<Loaded, ProjectError> {
        let name = lexical(path).display().to_string();
        if let Some(text) = texts.instead.get(&name) {
            return Ok(Loaded::Text(text.clone()));
        }
        let loaded = self.load(path)?;
        if let Loaded::Text(text) = &loaded {
            texts.add(name, text, file::read_bytes(path).ok().as_deref());
        }
        Ok(loaded)
    }

    fn load(&self, path: &Path) -> Result<Loaded, ProjectError> {
        let real = match file::canonical(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Loaded::Missing),
            real => real.map_err(|error| unreadable(path, &error))?,
        };
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            return Ok(Loaded::Refused(Reason::OutsideDirectory));
        }
        match file::marked_text_up_to(&real, FILE_LIMIT_BYTES) {
            Ok(text) => Ok(Loaded::Text(text)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Ok(Loaded::Refused(Reason::TooLarge { limit: memory(FILE_LIMIT_BYTES) }))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                decoded(path, &real).map(Loaded::Text)
            }
            Err(error) => Err(unreadable(path, &error)),
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ProjectError {
    ProjectError::Io { file: path.display().to_string(), why: file::why_unreadable(error) }
}

/// The text of a file that is not UTF-8, where its first lines name Latin-1 (PEP 263), as pip reads it.
fn decoded(shown: &Path, path: &Path) -> Result<String, ProjectError> {
    let file = shown.display().to_string();
    let bytes = file::read_bytes(path)
        .map_err(|error| ProjectError::Io { file: file.clone(), why: error.message })?;
    let latin = ["latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252", "windows-1252"];
    let head: String = bytes.iter().take(200).map(|&byte| char::from(byte)).collect();
    let comments = head.lines().take(2).filter(|line| line.trim_start().starts_with('#'));
    let named = comments.filter_map(|line| line.split_once("coding"));
    let mut names = named.map(|(_, rest)| rest.trim_start_matches([':', '=', ' ']).to_lowercase());
    if names.any(|name| latin.iter().any(|one| name.starts_with(one))) {
        return Ok(bytes.iter().map(|&byte| char::from(byte)).collect());
    }
    let valid = std::str::from_utf8(&bytes).err().map_or(0, |error| error.valid_up_to());
    let line = bytes[..valid].iter().filter(|&&byte| byte == b'\n').count() + 1;
    Err(ProjectError::Encoding { file, line })
}

#[cfg(test)]
mod tests;
