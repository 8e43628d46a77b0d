//! The running environment, and the files of this machine that set it.
#![expect(clippy::disallowed_methods, reason = "files that --here asks for")]

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::facts::{Fact, Facts};
use crate::lint::file::{HERE, kind_of_name};
use crate::lint::{File, Kind};
use crate::report::file;

/// What shells, NCCL and DeepSpeed read, below `/`.
const FILES: &[&str] = &["/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/nccl.conf"];
/// The same, below the home directory.
const HOME: &[&str] = &[".profile", ".bash_profile", ".bashrc", ".nccl.conf", ".deepspeed_env"];

/// Adds the environment, and those of the files that are there.
pub fn add(facts: &Facts, files: &mut Vec<File>) -> Result<(), Error> {
    let variables = facts.environment.variables.known();
    // Names and values as the facts have them: those of the stack.
    if let Some(set) = variables {
        let text: String = set.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        files.push(File::new(HERE, text, Kind::Environment));
    }
    let home = match &facts.environment.variables {
        Fact::Known(set) => set.get("HOME").cloned(),
        _ => None,
    };
    let mut paths: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    if let Ok(Some(names)) = file::below(Path::new("/etc/profile.d")) {
        paths.extend(names.into_iter().filter(|name| name.extension().is_some_and(|end| end == "sh")));
    }
    paths.extend(home.iter().flat_map(|home| HOME.iter().map(move |name| Path::new(home).join(name))));
    paths.push(PathBuf::from(".deepspeed_env"));
    for path in paths.into_iter().filter(|path| path.is_file()) {
        let name = path.display().to_string();
        let known = files.iter().any(|one| one.name == name);
        let Some(kind) = kind_of_name(&name).filter(|_| !known) else { continue };
        // What may not be read is not judged; other files are no less.
        if let Ok(Some(text)) = file::read(&path) {
            files.push(File::new(name, text, kind));
        }
    }
    Ok(())
}
