//! The build context of a Dockerfile: where it is, and the files in it that tell more.
#![expect(clippy::disallowed_methods, reason = "files beside the one that the user named")]

use std::path::{Path, PathBuf};

use host::file;
use lint::{self, File, Kind, Over};

/// How far above a Dockerfile its context is looked for.
const UP: usize = 3;
/// Larger files are no lists that somebody wrote, bytes.
const LARGEST: u64 = 1 << 20;

/// Reads the files of the context that the Dockerfile installs from. The context is the folder that was named, else the nearest one,
/// from the Dockerfile's own upwards, in which everything lies that the file copies.
pub fn fill(file: &mut File, named: Option<&Path>) {
    if file.kind == Kind::DeepspeedConfig && file.name != "-" {
        let path = Path::new(&file.name).with_file_name("hostfile");
        let name = path.display().to_string();
        file.over.extend(text(&path).map(|text| Over { name, text }));
        return;
    }
    let asks = lint::asks(file);
    if asks.wants.is_empty() {
        return;
    }
    let holds = |folder: &PathBuf| asks.copies.iter().all(|path| folder.join(path).exists());
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
        // Lists name further lists.
        wants = lint::asks(file).wants;
    }
}

/// Adds the env files of compose services that are there and not among the files yet.
pub fn env_files(files: &mut Vec<File>) {
    let mut more: Vec<File> = Vec::new();
    for file in files.iter().filter(|file| file.kind == Kind::Compose && file.name != "-") {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        for name in lint::env_files(file) {
            let path = folder.join(name);
            let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
            let known = files.iter().chain(&more).any(|one| one.name == name);
            if let Some(text) = text(&path).filter(|_| !known) {
                more.push(File::new(name, text, Kind::Environment));
            }
        }
    }
    files.extend(more);
}

/// The folder of a file, and those above it up to the root of its repository.
fn above(path: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut folder = path.parent().unwrap_or(Path::new("")).to_owned();
    for _ in 0..=UP {
        folders.push(folder.clone());
        if folder.join(".git").exists() || folder.as_os_str().is_empty() || !folder.pop() {
            break;
        }
    }
    folders
}

fn text(path: &Path) -> Option<String> {
    let small = path.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    small.then(|| file::read(path).ok().flatten()).flatten()
}
