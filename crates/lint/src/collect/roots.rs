//! Which files a linted file may bring in. A file of a stranger may name any path of this machine, and a
//! report shows parts of what it read.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use host::file;

use super::read_text;
use crate::{Over, Skipped, Unchecked, Unreadable};

/// Larger files are not read along with others.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// The directories that the user named, and what was read for the files in them: each file and directory is
/// read once, however many linted files it is next to.
#[derive(Debug, Default)]
pub(super) struct Roots {
    given: Vec<PathBuf>,
    texts: RefCell<HashMap<PathBuf, Rc<Known>>>,
    siblings: RefCell<Siblings>,
    lists: RefCell<HashMap<PathBuf, Rc<[Over]>>>,
}

/// Endings of file names, without the dot.
pub(super) type Ends = &'static [&'static str];

/// The files of a directory with some endings.
type Siblings = HashMap<(PathBuf, Ends), Rc<[PathBuf]>>;

/// A file that another one names.
#[derive(Debug)]
struct Known {
    /// Where it is, links followed; empty where that cannot be found out.
    real: PathBuf,
    text: OnceCell<Result<Rc<str>, io::Error>>,
}

impl Roots {
    pub(super) fn new<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Roots {
        let directories = paths.filter(|path| file::is_directory(path));
        let given = directories.filter_map(|path| file::canonical(path).ok()).collect();
        Roots { given, ..Roots::default() }
    }

    /// Where the files that one brings in may be: in its repository, in the directories that were named, and
    /// in its own; where it has no repository and was named from the working directory, in that.
    pub(super) fn around(&self, name: &str) -> Around<'_> {
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
        Around { roots, read: self, skipped: Vec::new(), unreadable: Vec::new() }
    }

    /// A file that exists and is no directory.
    fn known(&self, path: &Path) -> Option<Rc<Known>> {
        if let Some(known) = self.texts.borrow().get(path) {
            return Some(Rc::clone(known));
        }
        if !file::exists(path) || file::is_directory(path) {
            return None;
        }
        let real = file::canonical(path).unwrap_or_default();
        let known = Rc::new(Known { real, text: OnceCell::new() });
        self.texts.borrow_mut().insert(path.to_owned(), Rc::clone(&known));
        Some(known)
    }
}

/// The directories around a file, and what it names outside of them.
#[derive(Debug)]
pub(super) struct Around<'r> {
    roots: Vec<PathBuf>,
    read: &'r Roots,
    /// Files that were not read: outside of the directories, or too large.
    pub(super) skipped: Vec<Skipped>,
    /// Files that could not be read.
    pub(super) unreadable: Vec<Unreadable>,
}

impl Around<'_> {
    /// Whether a path is in one of the directories, links followed; not where it does not exist.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        file::canonical(path).is_ok_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
    }

    /// The text of a small file in one of the directories. What is there and is not read is noted.
    pub(super) fn text(&mut self, path: &Path) -> Option<Rc<str>> {
        let known = self.read.known(path)?;
        let name = || path.strip_prefix(".").unwrap_or(path).display().to_string();
        if !self.roots.iter().any(|root| known.real.starts_with(root)) {
            self.skip(name(), Unchecked::Outside);
            return None;
        }
        match known.text.get_or_init(|| read_text(path, FILE_LIMIT_BYTES).map(Rc::from)) {
            Ok(text) => return Some(Rc::clone(text)),
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

    /// The files of a directory with these endings.
    pub(super) fn siblings(&self, folder: &Path, ends: Ends) -> Rc<[PathBuf]> {
        let key = (folder.to_owned(), ends);
        if let Some(known) = self.read.siblings.borrow().get(&key) {
            return Rc::clone(known);
        }
        let is_one = |path: &PathBuf| {
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            ends.contains(&end) && file::is_file(path)
        };
        let found: Rc<[PathBuf]> = file::entries(folder).into_iter().filter(is_one).collect();
        self.read.siblings.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// The lists of packages in a directory: those that `read` finds there, which is asked once.
    pub(super) fn lists(&mut self, folder: &Path, read: impl FnOnce(&mut Self) -> Vec<Over>) -> Rc<[Over]> {
        if let Some(known) = self.read.lists.borrow().get(folder) {
            return Rc::clone(known);
        }
        let found: Rc<[Over]> = read(self).into();
        self.read.lists.borrow_mut().insert(folder.to_owned(), Rc::clone(&found));
        found
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
            let roots = Roots::new(given.iter());
            let mut around = roots.around(at(file).to_str().unwrap());
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
        let roots = Roots::default();
        let mut around = roots.around(at("compose.yaml").to_str().unwrap());
        for name in ["large.env", "zero.env", "socket.env", "socket.env", "none.env"] {
            assert_eq!(around.text(&at(name)), None, "{name}");
        }
        let skipped: Vec<Unchecked> = around.skipped.iter().map(|one| one.why).collect();
        assert_eq!(skipped, [Unchecked::TooLarge, Unchecked::Outside]);
        let [socket] = &around.unreadable[..] else { panic!("{:?}", around.unreadable) };
        assert!(socket.name.ends_with("socket.env") && socket.why == "it is a socket, not a file");
    }
}
