//! Where settings are looked for.

use std::path::{Path, PathBuf};

use host::{file, link};

/// The name of a settings file.
const NAME: &str = "envdoc.toml";
/// A project's file that may contain a table for envdoc.
const PYPROJECT: &str = "pyproject.toml";
/// Longer files are not settings, in bytes.
pub(crate) const LIMIT_BYTES: u64 = 1 << 20;

/// The files that settings may come from, the strongest first. A file that does not exist is left out; a link
/// that leads nowhere is not, so that reading it fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Of the project: in the working directory or the nearest one above.
    pub project: Option<PathBuf>,
    /// Of the user: `envdoc/envdoc.toml` in the user's configuration directory.
    pub user: Option<PathBuf>,
    /// Of the machine: `/etc/envdoc/envdoc.toml`.
    pub machine: Option<PathBuf>,
}

/// Looks for the files of a run in this directory.
///
/// The nearest directory with a file of the project ends the search; of two in one directory, `envdoc.toml`
/// counts. A `pyproject.toml` counts only with the table `[tool.envdoc]`.
pub fn origins(directory: &Path, user: Option<&Path>, machine: &Path) -> Origins {
    let above = directory.ancestors().filter(|directory| directory.is_absolute());
    let mut project = above.flat_map(|directory| [directory.join(NAME), directory.join(PYPROJECT)]);
    let existing = |path: PathBuf| link::is_there(&path).then_some(path);
    Origins {
        project: project.find(|path| match is_pyproject(path) {
            true => file::is_file(path) && has_table(path),
            false => link::is_there(path),
        }),
        user: user.and_then(|directory| existing(directory.join("envdoc").join(NAME))),
        machine: existing(machine.join("envdoc").join(NAME)),
    }
}

/// Whether settings are in a table of it instead of at its top.
pub(crate) fn is_pyproject(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == PYPROJECT)
}

/// Whether a pyproject.toml has settings. One that is no TOML has none: other programs report it.
fn has_table(path: &Path) -> bool {
    let text = file::text_up_to(path, LIMIT_BYTES).ok();
    let table = text.and_then(|text| text.parse::<toml::Table>().ok());
    table.is_some_and(|table| table.get("tool").and_then(|tool| tool.get("envdoc")).is_some())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files")]

    use super::*;

    #[test]
    fn the_nearest_file_of_the_project_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let below = root.join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        let none = Path::new("/nowhere");
        let found = |at: &Path| origins(at, Some(&root.join("user")), none).project;
        std::fs::write(root.join(NAME), "").unwrap();
        std::fs::write(root.join("a").join(PYPROJECT), "[project]\nname = 'x'\n").unwrap();
        assert_eq!(found(&below), Some(root.join(NAME)), "a pyproject.toml without the table is passed");
        std::fs::write(root.join("a").join(PYPROJECT), "[tool.envdoc]\n").unwrap();
        assert_eq!(found(&below), Some(root.join("a").join(PYPROJECT)));
        std::fs::write(root.join("a").join(NAME), "").unwrap();
        assert_eq!(found(&below), Some(root.join("a").join(NAME)), "envdoc.toml before pyproject.toml");
        std::os::unix::fs::symlink("nowhere", below.join(NAME)).unwrap();
        assert_eq!(found(&below), Some(below.join(NAME)), "a link that leads nowhere is found, not passed");
    }

    #[test]
    fn users_and_machines_have_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        for of in ["home", "etc"] {
            std::fs::create_dir_all(folder.path().join(of).join("envdoc")).unwrap();
            std::fs::write(folder.path().join(of).join("envdoc").join(NAME), "").unwrap();
        }
        let found = origins(Path::new("/"), Some(&folder.path().join("home")), &folder.path().join("etc"));
        assert_eq!(found.user, Some(folder.path().join("home/envdoc/envdoc.toml")));
        assert_eq!(found.machine, Some(folder.path().join("etc/envdoc/envdoc.toml")));
    }
}
