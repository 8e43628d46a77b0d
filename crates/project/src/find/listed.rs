//! The requirements files of a directory, and which of them counts.

use std::path::{Path, PathBuf};

use host::file;

use crate::not_read::{NotRead, Reason};
use crate::project::Project;
use crate::purpose::purpose;
use crate::requirements::lexical;

/// One of these is read: the first that exists.
pub(super) const USUAL: &[&str] =
    &["requirements.txt", "requirements/base.txt", "requirements/main.txt", "requirements/prod.txt"];

/// The requirements files of a directory, sorted.
#[derive(Debug)]
pub(super) struct Listed {
    directory: PathBuf,
    pub(super) files: Vec<PathBuf>,
}

impl Listed {
    pub(super) fn of(directory: &Path) -> Listed {
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

    pub(super) fn chosen(&self) -> Option<PathBuf> {
        let in_directory = |name: &&str| lexical(&self.directory.join(name));
        let usual = USUAL.iter().map(in_directory);
        let sources = USUAL.iter().map(|name| in_directory(name).with_extension("in"));
        usual.chain(sources).find(|path| self.files.contains(path)).or(match &self.files[..] {
            [only] => Some(only.clone()),
            _ => None,
        })
    }

    /// Adds those that were not read.
    pub(super) fn others(self, project: &mut Project) {
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
    purpose(&path.file_stem()?.to_string_lossy())
}
