//! Which files a linted file may bring in. A file of a stranger may name any path of this machine, and a
//! report shows parts of what it read.

use std::io;
use std::path::{Component, Path, PathBuf};

use host::file;

use crate::{Skipped, Unchecked, Unreadable};

/// Larger files are not read along with others.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// The directories that the user named.
#[derive(Debug, Default)]
pub(super) struct Roots {
    given: Vec<PathBuf>,
}

impl Roots {
    pub(super) fn new<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Roots {
        let directories = paths.filter(|path| file::is_directory(path));
        Roots { given: directories.filter_map(|path| file::canonical(path).ok()).collect() }
    }

    /// Where the files that one brings in may be: in its repository, in the directories that were named, and
    /// in its own; where it has no repository and was named from the working directory, in that.
    pub(super) fn around(&self, name: &str) -> Around {
        let path = Path::new(name);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut roots = self.given.clone();
        if let Ok(folder) = file::canonical(folder) {
            let repository = folder.ancestors().find(|folder| file::exists(&folder.join(".git")));
            let below =
                path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            match repository {
                Some(repository) => roots.push(repository.to_owned()),
                None if below && name != "-" => roots.extend(file::canonical(Path::new("."))),
                None => {}
            }
            roots.push(folder);
        }
        Around { roots, skipped: Vec::new(), unreadable: Vec::new() }
    }
}

/// The directories around a file, and what it names outside of them.
#[derive(Debug)]
pub(super) struct Around {
    roots: Vec<PathBuf>,
    /// Files that were not read: outside of the directories, or too large.
    pub(super) skipped: Vec<Skipped>,
    /// Files that could not be read.
    pub(super) unreadable: Vec<Unreadable>,
}

impl Around {
    /// Whether a path is in one of the directories, links followed; not where it does not exist.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        file::canonical(path).is_ok_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
    }

    /// The text of a small file in one of the directories. What is there and is not read is noted.
    pub(super) fn text(&mut self, path: &Path) -> Option<String> {
        if !file::exists(path) || file::is_directory(path) {
            return None;
        }
        let name = || path.strip_prefix(".").unwrap_or(path).display().to_string();
        if !self.contains(path) {
            self.skip(name(), Unchecked::Outside);
            return None;
        }
        match file::text_up_to(path, FILE_LIMIT_BYTES) {
            Ok(text) => return Some(text),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                self.skip(name(), Unchecked::TooLarge);
            }
            // Scripts and programs may be binaries.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => {
                let one = Unreadable { name: name(), why: error.to_string(), directory: false };
                if self.unreadable.iter().all(|other| other.name != one.name) {
                    self.unreadable.push(one);
                }
            }
        }
        None
    }

    fn skip(&mut self, name: String, why: Unchecked) {
        if self.skipped.iter().all(|one| one.name != name) {
            self.skipped.push(Skipped { name, why, named: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path) {
        file::directory(path.parent().unwrap()).unwrap();
        file::write(path, "A=1\n", true).unwrap();
    }

    #[test]
    fn only_files_of_the_repository_or_the_named_directory_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in
            ["secret.env", "repo/.git/HEAD", "repo/x.env", "repo/a/compose.yaml", "plain/a/compose.yaml"]
        {
            write(&at(name));
        }
        write(&at("plain/x.env"));
        #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
        std::os::unix::fs::symlink(at("secret.env"), at("repo/a/link.env")).unwrap();
        let read = |given: &[PathBuf], file: &str, name: &str| {
            let mut around = Roots::new(given.iter()).around(at(file).to_str().unwrap());
            let text = around.text(&at(file).parent().unwrap().join(name));
            (text.is_some(), around.skipped.len())
        };
        assert_eq!(read(&[], "repo/a/compose.yaml", "../x.env"), (true, 0));
        assert_eq!(read(&[], "repo/a/compose.yaml", "../../secret.env"), (false, 1));
        assert_eq!(read(&[], "repo/a/compose.yaml", "link.env"), (false, 1));
        assert_eq!(read(&[], "repo/a/compose.yaml", "none.env"), (false, 0));
        assert_eq!(read(&[], "plain/a/compose.yaml", "../x.env"), (false, 1));
        assert_eq!(read(&[at("plain")], "plain/a/compose.yaml", "../x.env"), (true, 0));
    }

    #[test]
    fn files_that_are_named_and_not_read_are_noted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        write(&at("compose.yaml"));
        file::write(&at("large.env"), &"A=1\n".repeat(1 << 19), true).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
        std::os::unix::fs::symlink("/dev/zero", at("zero.env")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket.env")).unwrap();
        let mut around = Roots::default().around(at("compose.yaml").to_str().unwrap());
        for name in ["large.env", "zero.env", "socket.env", "socket.env", "none.env"] {
            assert_eq!(around.text(&at(name)), None, "{name}");
        }
        let skipped: Vec<Unchecked> = around.skipped.iter().map(|one| one.why).collect();
        assert_eq!(skipped, [Unchecked::TooLarge, Unchecked::Outside]);
        let [socket] = &around.unreadable[..] else { panic!("{:?}", around.unreadable) };
        assert!(socket.name.ends_with("socket.env") && socket.why == "it is a socket, not a file");
    }
}
