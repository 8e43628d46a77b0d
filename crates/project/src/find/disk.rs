//! Texts of files below the directories of a project.

use std::io;
use std::path::{Path, PathBuf};

use diagnostic::units::memory;
use host::file;

use super::Selection;
use crate::error::ProjectError;
use crate::not_read::Reason;
use crate::requirements::{Loaded, lexical};
use crate::texts::Texts;

/// The largest file that is read.
pub(super) const FILE_LIMIT_BYTES: u64 = 4 << 20;

/// The directories below which files are read.
#[derive(Debug)]
pub(super) struct Disk {
    roots: Vec<PathBuf>,
}

impl Disk {
    pub(super) fn of(selection: &Selection) -> Result<Disk, ProjectError> {
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

    pub(super) fn load_with(&self, path: &Path, texts: &mut Texts) -> Result<Loaded, ProjectError> {
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
