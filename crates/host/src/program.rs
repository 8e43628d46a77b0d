//! Which file a program is: only absolute folders of PATH are searched. `.` and an empty entry, which
//! means the same, would run whatever lies in the folder that envdoc was started in.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The PATH of a process without one, and of another root: the default for root of Debian and Fedora, and the
/// folder of conda in images.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/conda/bin";

/// PATH without its relative and empty entries, for programs that envdoc starts.
pub fn path() -> OsString {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the system looks for programs; no reading of the machine"
    )]
    let path = std::env::var_os("PATH");
    absolute(path.unwrap_or_else(|| DEFAULT_PATH.into()))
}

fn absolute(path: OsString) -> OsString {
    let entries = std::env::split_paths(&path).filter(|entry| entry.is_absolute());
    // Only an entry with a colon cannot be joined, and none that was split has one.
    std::env::join_paths(entries).unwrap_or_default()
}

/// The file of a program; a name with a slash is itself.
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(name, path())
}

#[expect(clippy::disallowed_methods, reason = "the one place where programs are looked for")]
fn find_in(name: &str, path: OsString) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let there = |folder: PathBuf| Some(folder.join(name)).filter(|file| file.is_file());
    // One that may not be run is there nevertheless: starting it says so.
    which::which_in(name, Some(&path), Path::new("/"))
        .ok()
        .or_else(|| std::env::split_paths(&path).find_map(there))
}

/// A command that starts a program of PATH, and gives it that PATH too.
pub fn command(name: &str) -> io::Result<Command> {
    Ok(of_file(&find(name).ok_or(io::ErrorKind::NotFound)?))
}

/// [`command`], started in a directory, to which a name with a slash is relative.
pub fn command_in(directory: &Path, name: &str) -> io::Result<Command> {
    let mut command = match name.contains('/') {
        true => of_file(&directory.join(name)),
        false => command(name)?,
    };
    command.current_dir(directory);
    Ok(command)
}

fn of_file(file: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place where programs are started")]
    let mut command = Command::new(file);
    command.env("PATH", path());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_folders_are_searched() {
        let of = |path: &str| absolute(path.into()).into_string().unwrap();
        assert_eq!(of(".:/usr/bin::bin:/bin:"), "/usr/bin:/bin");
        assert_eq!((of(""), of(".:")), (String::new(), String::new()));
        assert_eq!(find_in("sh", absolute(".::".into())), None);
        assert_eq!(find_in("no-such-program-7", "/usr/bin:/bin".into()), None);
        assert!(find_in("sh", "/usr/bin:/bin".into()).is_some_and(|path| path.is_absolute()));
        assert_eq!(find_in("./sh", "/bin".into()), Some(PathBuf::from("./sh")));
    }
}
