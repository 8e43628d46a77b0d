//! The files to lint: those that were named, the known ones below a directory, and the files that these refer
//! to.

mod context;
pub mod here;

use catalog::Catalog;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind as ErrorKind};
use host::file::{self, Below};

use crate::file::{COMPOSE_NAMES, OVERRIDE_NAMES, kind_of_name, kind_of_text, may_be_deepspeed};
use crate::{File, Kind, Over, Stack, Unreadable};

/// Why a JSON file is certainly no configuration: too large, not UTF-8.
const NO_CONFIG: &[io::ErrorKind] = &[io::ErrorKind::FileTooLarge, io::ErrorKind::InvalidData];

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
}

impl Sources {
    /// Reads them, with the files that they refer to. An error where the only named file cannot be read, a
    /// named file is missing or has no known type, or a directory has nothing to lint.
    pub fn files(&self) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        for path in &self.paths {
            self.path(path, &mut collected)?;
        }
        collected.files.extend(self.merged()?);
        context::env_files(&mut collected.files);
        Ok(collected)
    }

    fn path(&self, path: &Path, collected: &mut Collected) -> Result<(), Error> {
        let name = path.display().to_string();
        if name == "-" {
            collected.files.push(self.named(name, file::standard_input()?)?);
            return Ok(());
        }
        let read = match file::below(path) {
            Ok(Some(below)) => return self.directory(&name, below, collected),
            Ok(None) => file::text_of(path).map_err(|error| (error, false)),
            Err(error) => Err((error, true)),
        };
        match read {
            Ok(text) => collected.files.push(self.named(name, text)?),
            Err((error, _)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::new(ErrorKind::File, format!("{name}: no such file")));
            }
            Err((error, _)) if self.paths.len() + self.compose.len() == 1 => {
                return Err(Error::new(ErrorKind::File, format!("cannot read {name}: {error}")));
            }
            Err((error, directory)) => {
                collected.unreadable.push(Unreadable { name, why: error.to_string(), directory });
            }
        }
        Ok(())
    }

    /// The known files of a directory.
    fn directory(&self, name: &str, below: Below, collected: &mut Collected) -> Result<(), Error> {
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        for (path, error) in below.unreadable {
            unreadable.push(Unreadable { name: shown(&path), why: error.to_string(), directory: true });
        }
        for path in &below.files {
            let shown = shown(path);
            let named = kind_of_name(&shown);
            if named.is_none() && !may_be_deepspeed(&shown) {
                continue;
            }
            match file::text_of(path) {
                Ok(text) => {
                    if let Some(kind) = named.or_else(|| kind_of_text(&text)) {
                        found.push(self.file(shown, text, kind));
                    }
                }
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Only its contents would show that it is a configuration, and DeepSpeed could not read it.
                Err(error) if named.is_none() && NO_CONFIG.contains(&error.kind()) => {}
                Err(error) => {
                    unreadable.push(Unreadable { name: shown, why: error.to_string(), directory: false });
                }
            }
        }
        if found.is_empty() && unreadable.is_empty() {
            return Err(Error::new(ErrorKind::File, format!("{name} contains no files to lint")).hint(
                "known names: Dockerfile*, *.Dockerfile, Containerfile, *compose*.yml, stack*.yml, *.env, \
                 .deepspeed_env, *.sh, ds_config*.json, hostfile, requirements*.txt, *.py",
            ));
        }
        collected.files.extend(with_overrides(found));
        collected.unreadable.extend(unreadable);
        Ok(())
    }

    /// The Compose files that were named to be merged.
    fn merged(&self) -> Result<Option<File>, Error> {
        let mut whole: Option<File> = None;
        for path in &self.compose {
            let name = path.display().to_string();
            let text = file::read(path)?;
            let text = text.ok_or_else(|| Error::new(ErrorKind::File, format!("{name}: no such file")))?;
            match &mut whole {
                Some(whole) => whole.over.push(Over { name, text }),
                None => whole = Some(self.file(name, text, Kind::Compose)),
            }
        }
        Ok(whole)
    }

    fn named(&self, name: String, text: String) -> Result<File, Error> {
        let Some(kind) = self.kind.or_else(|| kind_of_name(&name)).or_else(|| kind_of_text(&text)) else {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.id()).collect();
            let error = Error::new(ErrorKind::Usage, format!("cannot determine the type of {name}"));
            return Err(error.hint(format!("set the type with --as: {}", kinds.join(", "))));
        };
        Ok(self.file(name, text, kind))
    }

    fn file(&self, name: String, text: String, kind: Kind) -> File {
        let mut file = File::new(self.catalog, name, text, kind);
        if self.stack {
            file.stack = Stack::Yes;
        }
        context::fill(&mut file, self.context.as_deref());
        file
    }
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
    let first = |folder: &str, names: &[&str]| {
        let position = |name: &&str| {
            files
                .iter()
                .position(|file| folder_and_name(&file.name) == (folder.to_owned(), (*name).to_owned()))
        };
        names.iter().find_map(position)
    };
    let folders: BTreeSet<String> = files.iter().map(|file| folder_and_name(&file.name).0).collect();
    let pairs = folders
        .iter()
        .filter_map(|folder| Some((first(folder, COMPOSE_NAMES)?, first(folder, OVERRIDE_NAMES)?)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let mut merged = files.clone();
    for (base, other) in &pairs {
        let File { name, text, .. } = files[*other].clone();
        merged[*base].over.push(Over { name, text });
    }
    let is_override = |index: usize| pairs.iter().any(|(_, other)| *other == index);
    merged.into_iter().enumerate().filter(|(index, _)| !is_override(*index)).map(|(_, file)| file).collect()
}
