//! The files to lint: those that were named, the known ones below a directory, and the files that these refer
//! to.

mod context;
pub mod here;

use catalog::Catalog;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind as ErrorKind};
use host::file;

use crate::file::{COMPOSE_NAMES, OVERRIDE_NAMES, kind_of_name, kind_of_text, may_be_deepspeed};
use crate::{File, Kind, Over, Stack};

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

impl Sources {
    /// Reads them, with the files that they refer to. An error where a named file cannot be read or has no
    /// known type, or a directory has nothing to lint.
    pub fn files(&self) -> Result<Vec<File>, Error> {
        let mut files = Vec::new();
        for path in &self.paths {
            files.extend(self.path(path)?);
        }
        files.extend(self.merged()?);
        context::env_files(&mut files);
        Ok(files)
    }

    fn path(&self, path: &Path) -> Result<Vec<File>, Error> {
        let name = path.display().to_string();
        if name == "-" {
            return self.named(name, file::standard_input()?).map(|file| vec![file]);
        }
        if let Some(inside) = file::below(path)? {
            return self.directory(&name, &inside);
        }
        match file::read(path)? {
            Some(text) => self.named(name, text).map(|file| vec![file]),
            None => Err(Error::new(ErrorKind::File, format!("{name}: no such file"))),
        }
    }

    /// The known files of a directory.
    fn directory(&self, name: &str, inside: &[PathBuf]) -> Result<Vec<File>, Error> {
        let mut found = Vec::new();
        for path in inside {
            let shown = path.strip_prefix(".").unwrap_or(path).display().to_string();
            let named = kind_of_name(&shown);
            if named.is_none() && !may_be_deepspeed(&shown) {
                continue;
            }
            let Some(text) = file::read(path)? else { continue };
            if let Some(kind) = named.or_else(|| kind_of_text(&text)) {
                found.push(self.file(shown, text, kind));
            }
        }
        match found.is_empty() {
            true => Err(Error::new(ErrorKind::File, format!("{name} contains no files to lint")).hint(
                "known names: Dockerfile*, *.Dockerfile, Containerfile, *compose*.yml, stack*.yml, *.env, \
                 .deepspeed_env, *.sh, ds_config*.json, hostfile, requirements*.txt, *.py",
            )),
            false => Ok(with_overrides(found)),
        }
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

/// The files with each override file merged into its Compose file, as docker compose does.
fn with_overrides(files: Vec<File>) -> Vec<File> {
    let place = |name: &str| {
        let (folder, base) = name.rsplit_once('/').unwrap_or(("", name));
        (folder.to_owned(), base.to_owned())
    };
    let first = |folder: &str, names: &[&str]| {
        let position = |name: &&str| {
            files.iter().position(|file| place(&file.name) == (folder.to_owned(), (*name).to_owned()))
        };
        names.iter().find_map(position)
    };
    let folders: BTreeSet<String> = files.iter().map(|file| place(&file.name).0).collect();
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
