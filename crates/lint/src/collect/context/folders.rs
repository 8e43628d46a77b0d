//! The directories around a file.

use std::path::{Component, Path, PathBuf};

use host::file;

/// Directories above a file that are searched for what goes with it.
const PARENTS_LIMIT: usize = 3;

/// The directory of a file.
pub(super) fn folder_of(name: &str) -> PathBuf {
    let folder = Path::new(name).parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// The directory of a file and its parents, up to the root of the repository. Those above the working
/// directory have names such as `..`.
pub(super) fn above(path: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut folder = path.parent().unwrap_or(Path::new("")).to_owned();
    for _ in 0..=PARENTS_LIMIT {
        folders.push(folder.clone());
        let Some(parent) = parent(&folder).filter(|_| !file::exists(&folder.join(".git"))) else { break };
        folder = parent;
    }
    folders
}

/// The directory above another one; `None` for the root.
fn parent(folder: &Path) -> Option<PathBuf> {
    let climbs = folder.components().all(|part| matches!(part, Component::CurDir | Component::ParentDir));
    match climbs {
        true => Some(folder.strip_prefix(".").unwrap_or(folder).join("..")),
        false => folder.parent().map(Path::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_have_names_from_the_working_directory() {
        let of = |path: &str| parent(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(of("").as_deref(), Some(".."));
        assert_eq!(of(".").as_deref(), Some(".."));
        assert_eq!(of("..").as_deref(), Some("../.."));
        assert_eq!(of("docker").as_deref(), Some(""));
        assert_eq!(of("/srv").as_deref(), Some("/"));
        assert_eq!(of("/"), None);
    }
}
