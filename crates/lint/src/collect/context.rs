//! The build context of a Dockerfile, and the files that it installs from.

use std::path::{Component, Path, PathBuf};

use super::roots::{Around, Roots};
use crate::{File, Kind, Over, Skipped};
use host::file;

/// Directories above a Dockerfile that are searched for its context.
const PARENTS_LIMIT: usize = 3;
/// Scripts in the directory of a file that are read at most.
const SCRIPTS_LIMIT: usize = 20;

/// Reads the files that the Dockerfile installs from. The context is `named`, else the nearest directory,
/// from the Dockerfile upwards, that contains everything the file copies. Returns what is outside of `roots`.
pub(super) fn fill(file: &mut File, named: Option<&Path>, roots: &Roots) -> Vec<Skipped> {
    if file.kind == Kind::DeepspeedConfig && file.name != "-" {
        let mut around = roots.around(&file.name);
        let path = Path::new(&file.name).with_file_name("hostfile");
        let name = path.display().to_string();
        file.over.extend(around.text(&path).map(|text| Over { name, text }));
        let config = Path::new(&file.name);
        let base = config.file_name().map(|base| base.to_string_lossy().into_owned());
        file.over.extend(scripts(config, base.as_deref(), &mut around));
        return around.outside;
    }
    if file.kind == Kind::Hostfile && file.name != "-" {
        let mut around = roots.around(&file.name);
        file.over.extend(scripts(Path::new(&file.name), None, &mut around));
        return around.outside;
    }
    let asks = crate::asks(file);
    match asks.wants.is_empty() {
        true => Vec::new(),
        false => build_context(file, named, asks, roots.around(&file.name)),
    }
}

fn build_context(
    file: &mut File,
    named: Option<&Path>,
    asks: crate::Asks,
    mut around: Around,
) -> Vec<Skipped> {
    let holds = |folder: &PathBuf| asks.copies.iter().all(|path| file::exists(&folder.join(path)));
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None if file.name == "-" => return Vec::new(),
        None => {
            let mut folders = above(Path::new(&file.name)).into_iter();
            match folders.find(|folder| around.contains(folder) && holds(folder)) {
                Some(folder) => folder,
                None => return Vec::new(),
            }
        }
    };
    file.folder = folder.display().to_string();
    let mut wants = asks.wants;
    while !wants.is_empty() {
        for path in std::mem::take(&mut wants) {
            let text = around.text(&folder.join(&path));
            file.context.insert(path, text);
        }
        // Requirements files include others.
        wants = crate::asks(file).wants;
    }
    around.outside
}

/// The scripts next to `file`, or those of them whose text contains `name`.
fn scripts(file: &Path, name: Option<&str>, around: &mut Around) -> Vec<Over> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_script = |path: &PathBuf| {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        matches!(end, "sh" | "bash" | "sbatch" | "slurm") && file::is_file(path)
    };
    let read = |path: PathBuf| {
        let text = around.text(&path).filter(|text| name.is_none_or(|name| text.contains(name)))?;
        Some(Over { name: path.strip_prefix(".").unwrap_or(&path).display().to_string(), text })
    };
    file::entries(folder).into_iter().filter(is_script).take(SCRIPTS_LIMIT).filter_map(read).collect()
}

/// Adds the existing env files of Compose services. Returns what is outside of `roots`.
pub(super) fn env_files(files: &mut Vec<File>, roots: &Roots) -> Vec<Skipped> {
    let (mut more, mut outside): (Vec<File>, Vec<Skipped>) = Default::default();
    for file in files.iter().filter(|file| file.kind == Kind::Compose && file.name != "-") {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        let mut around = roots.around(&file.name);
        for name in crate::env_files(file) {
            let path = folder.join(name);
            let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
            let known = files.iter().chain(&more).any(|one| one.name == name);
            if let Some(text) = around.text(&path).filter(|_| !known) {
                more.push(File::new(file.catalog, name, text, Kind::Environment));
            }
        }
        outside.extend(around.outside);
    }
    files.extend(more);
    outside
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
