//! The build context of a Dockerfile, and the files that it installs from.

use std::path::{Component, Path, PathBuf};

use crate::{File, Kind, Over};
use host::file;

/// Directories above a Dockerfile that are searched for its context.
const PARENTS_LIMIT: usize = 3;
/// Scripts in the directory of a file that are read at most.
const SCRIPTS_LIMIT: usize = 20;
/// Larger files are not read.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Reads the files that the Dockerfile installs from. The context is `named`, else the nearest directory,
/// from the Dockerfile upwards, that contains everything the file copies.
pub(super) fn fill(file: &mut File, named: Option<&Path>) {
    if file.kind == Kind::DeepspeedConfig && file.name != "-" {
        let path = Path::new(&file.name).with_file_name("hostfile");
        let name = path.display().to_string();
        file.over.extend(text(&path).map(|text| Over { name, text }));
        let config = Path::new(&file.name);
        let base = config.file_name().map(|base| base.to_string_lossy().into_owned());
        file.over.extend(scripts(config, base.as_deref()));
        return;
    }
    if file.kind == Kind::Hostfile && file.name != "-" {
        file.over.extend(scripts(Path::new(&file.name), None));
        return;
    }
    let asks = crate::asks(file);
    if asks.wants.is_empty() {
        return;
    }
    let holds = |folder: &PathBuf| asks.copies.iter().all(|path| file::exists(&folder.join(path)));
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None if file.name == "-" => return,
        None => match above(Path::new(&file.name)).into_iter().find(holds) {
            Some(folder) => folder,
            None => return,
        },
    };
    file.folder = folder.display().to_string();
    let mut wants = asks.wants;
    while !wants.is_empty() {
        for path in std::mem::take(&mut wants) {
            let text = text(&folder.join(&path));
            file.context.insert(path, text);
        }
        // Requirements files include others.
        wants = crate::asks(file).wants;
    }
}

/// The scripts next to `file`, or those of them whose text contains `name`.
fn scripts(file: &Path, name: Option<&str>) -> Vec<Over> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_script = |path: &PathBuf| {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        matches!(end, "sh" | "bash" | "sbatch" | "slurm") && file::is_file(path)
    };
    let read = |path: PathBuf| {
        let text = text(&path).filter(|text| name.is_none_or(|name| text.contains(name)))?;
        Some(Over { name: path.strip_prefix(".").unwrap_or(&path).display().to_string(), text })
    };
    file::entries(folder).into_iter().filter(is_script).take(SCRIPTS_LIMIT).filter_map(read).collect()
}

/// Adds the existing env files of Compose services.
pub(super) fn env_files(files: &mut Vec<File>) {
    let mut more: Vec<File> = Vec::new();
    for file in files.iter().filter(|file| file.kind == Kind::Compose && file.name != "-") {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        for name in crate::env_files(file) {
            let path = folder.join(name);
            let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
            let known = files.iter().chain(&more).any(|one| one.name == name);
            if let Some(text) = text(&path).filter(|_| !known) {
                more.push(File::new(file.catalog, name, text, Kind::Environment));
            }
        }
    }
    files.extend(more);
}

/// The directory of a file and its parents, up to the root of the repository. Those above the working
/// directory have names such as `..`.
fn above(path: &Path) -> Vec<PathBuf> {
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

fn text(path: &Path) -> Option<String> {
    let small = file::size(path).is_some_and(|bytes| bytes <= FILE_LIMIT_BYTES);
    small.then(|| file::read(path).ok().flatten()).flatten()
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
