//! The files to lint: those that were named, the known ones below a directory, and the files that these refer
//! to.

mod context;
pub mod here;
mod roots;
mod together;

use catalog::Catalog;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind as ErrorKind};
use host::file::{self, Below};

use crate::detect::{Detected, detect, is_compose};
use crate::recognize::{
    COMPOSE_NAMES, OVERRIDE_NAMES, kind_of_name, may_be_deepspeed, may_be_recognized, name_says_deepspeed,
};
use crate::{File, Kind, Over, Skipped, Stack, Unchecked, Unreadable};
use context::NotRead;
use roots::Roots;

/// Larger files are not linted: no file that people write is, and every rule reads the whole of it.
const FILE_LIMIT_BYTES: u64 = 4 << 20;

/// Why a JSON file is certainly no configuration: too large, not UTF-8.
const NO_CONFIG: &[io::ErrorKind] = &[io::ErrorKind::FileTooLarge, io::ErrorKind::InvalidData];

/// The text of a file that rules check. pip reads lists of requirements in UTF-16 too.
fn read_text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    match kind_of_name(&path.display().to_string()) {
        Some(Kind::Requirements) => file::marked_text_up_to(path, limit_bytes),
        _ => file::text_up_to(path, limit_bytes),
    }
}

/// What to lint.
#[derive(Debug, Clone)]
pub struct Sources {
    /// What the files are compared with.
    pub catalog: &'static Catalog,
    /// Files and directories; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Compose files that are merged in this order.
    pub compose: Vec<PathBuf>,
    /// The type of the named files, where neither name nor contents show it.
    pub kind: Option<Kind>,
    /// Whether Compose files are stacks, however they look.
    pub stack: bool,
    /// The build context of Dockerfiles; else it is searched.
    pub context: Option<PathBuf>,
}

/// What was collected.
#[derive(Debug, Default)]
pub struct Collected {
    /// The files that were read.
    pub files: Vec<File>,
    /// Files and directories, of several, that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Files that no rule checks.
    pub skipped: Vec<Skipped>,
}

impl Collected {
    /// Adds what other files name and was not read, once.
    fn add(&mut self, NotRead { skipped, unreadable }: NotRead) {
        self.skipped.extend(skipped);
        for one in unreadable {
            if self.unreadable.iter().all(|other| other.name != one.name) {
                self.unreadable.push(one);
            }
        }
    }
}

impl Sources {
    /// Reads them, with the files that they refer to. An error where the only named file is missing, cannot
    /// be read or has no known type, or a directory has nothing to lint.
    pub fn files(&self) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        for path in &self.paths {
            self.path(path, &mut collected)?;
        }
        collected.files.extend(self.merged()?);
        let roots = Roots::new(self.paths.iter().chain(&self.context));
        for index in 0..collected.files.len() {
            let not_read = context::fill(&mut collected.files[index], self.context.as_deref(), &roots);
            collected.add(not_read);
        }
        let not_read = context::env_files(&mut collected.files, &roots);
        collected.add(not_read);
        let not_read = context::hostfiles(&mut collected.files, &roots);
        collected.add(not_read);
        let Collected { files, skipped, .. } = &mut collected;
        skipped.retain(|one| one.named || files.iter().all(|file| file.name != one.name));
        together::fill(&mut collected, &roots);
        Ok(collected)
    }

    fn path(&self, path: &Path, collected: &mut Collected) -> Result<(), Error> {
        let name = path.display().to_string();
        if name == "-" {
            return self.named(name, file::standard_input(FILE_LIMIT_BYTES)?, collected);
        }
        let read = match file::below(path) {
            Ok(Some(below)) => return self.directory(&name, below, collected),
            Ok(None) => read_text(path, FILE_LIMIT_BYTES).map_err(|error| (error, false)),
            Err(error) => Err((error, true)),
        };
        match read {
            Ok(text) => self.named(name, text, collected)?,
            Err((error, _)) if self.is_the_only_one() => return Err(file::unreadable(path, &error)),
            Err((error, directory)) => {
                collected.unreadable.push(Unreadable { name, why: error.to_string(), directory });
            }
        }
        Ok(())
    }

    fn directory(&self, name: &str, below: Below, collected: &mut Collected) -> Result<(), Error> {
        let mut found = Collected::default();
        for (path, error) in below.unreadable {
            let (name, why) = (shown(&path), error.to_string());
            found.unreadable.push(Unreadable { name, why, directory: true });
        }
        for path in &below.files {
            self.below(path, &mut found);
        }
        let root = file::canonical(Path::new(name)).ok();
        for path in &below.others {
            self.other(path, root.as_deref(), &mut found);
        }
        found.skipped.extend(below.environments.iter().map(|path| Skipped::environment(shown(path))));
        if found.files.is_empty() && found.unreadable.is_empty() {
            return Err(nothing(name, &found.skipped));
        }
        collected.files.extend(with_overrides(found.files));
        collected.unreadable.extend(found.unreadable);
        collected.skipped.extend(found.skipped);
        Ok(())
    }

    /// Adds what a link of a directory leads to, unless that is outside of the directory; a pipe, a socket or
    /// a device is a file that cannot be read.
    fn other(&self, path: &Path, root: Option<&Path>, found: &mut Collected) {
        let name = shown(path);
        let skipped = |why| Skipped { name: name.clone(), why, named: false };
        if file::is_directory(path) {
            return found.skipped.push(skipped(Unchecked::LinkedDirectory));
        }
        match file::canonical(path) {
            Ok(real) if root.is_some_and(|root| real.starts_with(root)) => self.below(path, found),
            Ok(_) => found.skipped.push(skipped(Unchecked::Outside)),
            Err(_) if kind_of_name(&name).is_none() => {
                found.skipped.push(skipped(Unchecked::UnknownType));
            }
            Err(error) => {
                let why = format!("link to a file that cannot be opened: {error}");
                found.unreadable.push(Unreadable { name, why, directory: false });
            }
        }
    }

    /// Adds a file of a directory.
    fn below(&self, path: &Path, found: &mut Collected) {
        let name = shown(path);
        let named = kind_of_name(&name);
        let skipped = |name, why| Skipped { name, why, named: false };
        if named.is_none() && !may_be_deepspeed(&name) && !may_be_recognized(&name) {
            found.skipped.push(skipped(name, Unchecked::UnknownType));
            return;
        }
        match read_text(path, FILE_LIMIT_BYTES) {
            Ok(text) => match detect_below(named, &name, &text) {
                Detected::Kind(kind) => found.files.push(self.file(name, text, kind)),
                Detected::Unchecked(why) => found.skipped.push(skipped(name, why)),
            },
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Only its contents would show that it is a configuration, and DeepSpeed could not read it.
            Err(error)
                if named.is_none() && !name_says_deepspeed(&name) && NO_CONFIG.contains(&error.kind()) =>
            {
                found.skipped.push(skipped(name, Unchecked::UnknownType));
            }
            Err(_) if is_binary(path) => found.skipped.push(skipped(name, Unchecked::Binary)),
            Err(error) => {
                found.unreadable.push(Unreadable { name, why: error.to_string(), directory: false });
            }
        }
    }

    /// The Compose files that were named to be merged.
    fn merged(&self) -> Result<Option<File>, Error> {
        let mut whole: Option<File> = None;
        for path in &self.compose {
            let name = path.display().to_string();
            let text =
                file::text_up_to(path, FILE_LIMIT_BYTES).map_err(|error| file::unreadable(path, &error))?;
            match &mut whole {
                Some(whole) => whole.over.push(Over::new(name, text)),
                None => whole = Some(self.file(name, text, Kind::Compose)),
            }
        }
        Ok(whole)
    }

    /// Whether a path is all that the user named.
    fn is_the_only_one(&self) -> bool {
        self.paths.len() + self.compose.len() == 1
    }

    fn named(&self, name: String, text: String, collected: &mut Collected) -> Result<(), Error> {
        let why = match self.detect(&name, &text) {
            Detected::Kind(kind) => {
                collected.files.push(self.file(name, text, kind));
                return Ok(());
            }
            Detected::Unchecked(why) => why,
        };
        if self.is_the_only_one() {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.id()).collect();
            let what = match why {
                Unchecked::UnknownType => format!("cannot determine the type of {name}"),
                other => format!("{name} is a {}, which no rule checks", other.title()),
            };
            let error = Error::new(ErrorKind::Usage, what);
            return Err(error.hint(format!("set the type with --as: {}", kinds.join(", "))));
        }
        collected.skipped.push(Skipped { name, why, named: true });
        Ok(())
    }

    /// The type of a file; what the user gives goes before what it shows.
    fn detect(&self, name: &str, text: &str) -> Detected {
        let stack = || self.stack && kind_of_name(name) == Some(Kind::Compose);
        match self.kind.or_else(|| stack().then_some(Kind::Compose)) {
            Some(kind) => Detected::Kind(kind),
            None => detect(name, text),
        }
    }

    fn file(&self, name: String, text: String, kind: Kind) -> File {
        let mut file = File::new(self.catalog, name, text, kind);
        if self.stack {
            file.stack = Stack::Yes;
        }
        file
    }
}

/// Skipped files that an error names.
const SKIPPED_SHOWN: usize = 3;

/// A directory without a file that rules check.
fn nothing(name: &str, skipped: &[Skipped]) -> Error {
    let error = Error::new(ErrorKind::File, format!("{name} contains no files to lint"));
    let foreign = skipped.iter().filter(|file| file.why != Unchecked::UnknownType);
    let shown = foreign.take(SKIPPED_SHOWN).map(|file| format!("{} is a {}", file.name, file.why.title()));
    let error = shown.fold(error, Error::hint);
    error.hint(
        "known names: Dockerfile*, *.Dockerfile, Containerfile, *compose*.yml, stack*.yml, *.env, \
         .deepspeed_env, *.sh, ds_config*.json, hostfile, requirements*.txt, pyproject.toml, \
         environment*.yml, *.py, *.service, .github/workflows/*.yml, Makefile, crontab, limits.conf, \
         Kubernetes manifests, templates of Helm and accelerate's configuration (*.yaml)",
    )
}

/// Types that contents alone show, but DeepSpeed's.
const BY_CONTENTS: &[Kind] = &[
    Kind::Kubernetes,
    Kind::HelmTemplate,
    Kind::Shell,
    Kind::ToolkitConfig,
    Kind::AccelerateConfig,
    Kind::Limits,
];

/// The type of a file of a directory. Of a JSON file whose name shows nothing, only DeepSpeed's is linted.
fn detect_below(named: Option<Kind>, name: &str, text: &str) -> Detected {
    let shows = |kind: Kind| match kind {
        Kind::DeepspeedConfig => may_be_deepspeed(name),
        kind => BY_CONTENTS.contains(&kind) || kind == Kind::Compose && is_compose(text),
    };
    match detect(name, text) {
        Detected::Kind(kind) if named.is_none() && !shows(kind) => {
            Detected::Unchecked(Unchecked::UnknownType)
        }
        other => other,
    }
}

/// Bytes of a file that are searched for one that no text has; git looks at as many.
const BINARY_LIMIT_BYTES: usize = 8000;

/// Whether a file is no text: it has a NUL byte near its beginning.
fn is_binary(path: &Path) -> bool {
    let bytes = file::read_bytes(path).unwrap_or_default();
    // UTF-16 is text in an encoding that these programs do not read.
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    !utf16 && bytes.iter().take(BINARY_LIMIT_BYTES).any(|byte| *byte == 0)
}

/// The name of a file of a directory: `./a` is `a`.
fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// The files with each override file merged into its Compose file, as docker compose does.
fn with_overrides(files: Vec<File>) -> Vec<File> {
    let folder_and_name = |name: &str| {
        let (folder, base) = name.rsplit_once('/').unwrap_or(("", name));
        (folder.to_owned(), base.to_owned())
    };
    let mut positions: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        positions.entry(folder_and_name(&file.name)).or_insert(index);
    }
    let first = |folder: &str, names: &[&str]| {
        names.iter().find_map(|name| positions.get(&(folder.to_owned(), (*name).to_owned())).copied())
    };
    let folders: BTreeSet<String> = positions.keys().map(|(folder, _)| folder.clone()).collect();
    let pairs = folders
        .iter()
        .filter_map(|folder| Some((first(folder, COMPOSE_NAMES)?, first(folder, OVERRIDE_NAMES)?)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let mut merged = files.clone();
    for (base, other) in &pairs {
        let File { name, text, .. } = files[*other].clone();
        merged[*base].over.push(Over::new(name, text));
    }
    let overrides: BTreeSet<usize> = pairs.iter().map(|(_, other)| *other).collect();
    let is_override = |index: usize| overrides.contains(&index);
    merged.into_iter().enumerate().filter(|(index, _)| !is_override(*index)).map(|(_, file)| file).collect()
}
