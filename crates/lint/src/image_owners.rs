//! What in an image belongs to root, and what somebody else was given: mkdir, WORKDIR, COPY, chown.

mod commands;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::read::dockerfile::Stage;
use crate::read::dockerfile::copied::{PATH_LIMIT_BYTES, join};
use crate::read::dockerfile::expand::expand;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::setup::{Setup, User};
use crate::read::dockerfile::stage::unquoted;
use crate::recognize::is_below;

/// A place in the stages of an image: the stage among them, and the instruction in it.
pub(crate) type Place = (usize, usize);

/// The deepest path that is followed.
const DEPTH_LIMIT: usize = 32;

/// Directories that every system has, and that belong to root.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/etc",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/sbin",
    "/srv",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/share",
    "/usr/share",
    "/usr/src",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/opt",
];

/// Directories to which users may write, or that are no part of the image.
const OPEN: &[&str] =
    &["/tmp", "/var/tmp", "/dev", "/proc", "/sys", "/run", "/var/run", "/home", "/var/lock"];

/// Who has what in an image, by path.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// What root made: the line.
    made: BTreeMap<String, usize>,
    /// What COPY and ADD made, which may be complete as it is.
    copied: BTreeMap<String, usize>,
    /// What somebody else owns or may write to, since when.
    given: BTreeMap<String, Place>,
    /// The same with everything below it.
    given_whole: BTreeMap<String, Place>,
    /// Since when nobody knows.
    unknown: Option<Place>,
}

impl Owners {
    /// Of a stage and the stages that it is built from, the first one first, with the setups of each.
    pub(crate) fn of(stages: &[(&Stage, &[Rc<Setup>])]) -> Owners {
        let mut owners = Owners::default();
        let mut workdir = String::new();
        for (number, (stage, setups)) in stages.iter().enumerate() {
            for (index, one) in stage.instructions.iter().enumerate() {
                let user = setups.get(index).map_or(&User::Unknown, |setup| &setup.user);
                owners.follow((number, index), stage, one, user, &mut workdir);
            }
        }
        owners
    }

    /// The line on which root made a directory with a command or WORKDIR.
    pub(crate) fn made(&self, path: &str) -> Option<usize> {
        self.made.get(path).copied()
    }

    /// The line on which root made a directory, by whatever instruction.
    pub(crate) fn put(&self, path: &str) -> Option<usize> {
        self.made.get(path).or_else(|| self.copied.get(path)).copied()
    }

    /// Whether somebody else may have a directory, because it or what it lies in was given away as a whole.
    pub(crate) fn is_given(&self, path: &str) -> bool {
        let whole = ancestors(path).any(|above| self.given_whole.contains_key(above));
        self.unknown.is_some() || self.given.contains_key(path) || whole
    }

    /// Whether a user may write to a path, or make it, at a place: nobody knows, or it or something that it
    /// lies in was given away before.
    pub(crate) fn may_write(&self, path: &str, place: Place) -> bool {
        let before = |since: Option<&Place>| since.is_some_and(|since| *since <= place);
        let deep = path.matches('/').count() > DEPTH_LIMIT;
        let open = OPEN.iter().any(|open| is_below(path, open));
        deep || open
            || before(self.unknown.as_ref())
            || ancestors(path)
                .any(|above| before(self.given.get(above)) || before(self.given_whole.get(above)))
    }

    fn follow(&mut self, place: Place, stage: &Stage, one: &Instruction, user: &User, workdir: &mut String) {
        match one.keyword.as_str() {
            "WORKDIR" => {
                let text = expand(&unquoted(one.text.text.trim()), &stage.end.variables);
                let path = join(workdir, &text.text);
                if path.len() > PATH_LIMIT_BYTES || !text.known {
                    return self.lose(place);
                }
                self.workdir(place, one.line, &path, user);
                *workdir = path;
            }
            "COPY" | "ADD" => self.copied(place, stage, one, workdir),
            "VOLUME" => {
                for word in one.words() {
                    self.give(&join("", word.trim_matches(['"', '\'', '[', ']', ','])), place, true);
                }
            }
            "RUN" => {
                self.mounts(place, one);
                for run in stage.commands_of(place.1) {
                    self.ran(place, run, user);
                }
            }
            _ => {}
        }
    }

    /// BuildKit makes it as the user who is set at that place.
    fn workdir(&mut self, place: Place, line: usize, path: &str, user: &User) {
        match user {
            User::Root => make(&mut self.made, path, line),
            _ if self.put(path).is_some() || SYSTEM.contains(&path) => {}
            _ => self.give(path, place, false),
        }
    }

    fn copied(&mut self, place: Place, stage: &Stage, one: &Instruction, workdir: &str) {
        let words = one.words();
        let Some((target, sources)) = words.split_last() else { return };
        let target = expand(&unquoted(target), &stage.end.variables);
        let path = join(workdir, &target.text);
        // What comes from another stage, and what ADD unpacks, keeps its owners.
        let archive = one.keyword == "ADD" && sources.iter().any(|source| may_unpack(one, source));
        let opens = one.flag("chown").is_some_and(|owner| !is_root(owner))
            || one.flag("chmod").is_some()
            || one.flag("from").is_some()
            || archive;
        if !opens {
            return make(&mut self.copied, &path, one.line);
        }
        if !target.known || !path.starts_with('/') {
            return self.lose(place);
        }
        let file = |source: &&str| {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            name.contains('.') && name.len() > 2 && !name.contains(['*', '?', '['])
        };
        let whole = !sources.iter().all(file) || archive;
        self.give(&path, place, whole || !SYSTEM.contains(&path.as_str()));
        // The directories above it are made with the same owner.
        for above in ancestors(&path).skip(1) {
            if !SYSTEM.contains(&above) && self.put(above).is_none() {
                self.give(above, place, false);
            }
        }
    }

    fn give(&mut self, path: &str, place: Place, whole: bool) {
        if path == "/" || !path.starts_with('/') {
            return self.lose(place);
        }
        let map = if whole { &mut self.given_whole } else { &mut self.given };
        map.entry(path.to_owned()).or_insert(place);
    }

    fn lose(&mut self, place: Place) {
        self.unknown.get_or_insert(place);
    }
}

/// Root makes a directory, and those above it that the system does not have.
fn make(made: &mut BTreeMap<String, usize>, path: &str, line: usize) {
    if !path.starts_with('/') || path.matches('/').count() > DEPTH_LIMIT {
        return;
    }
    for path in ancestors(path).take_while(|path| !SYSTEM.contains(path)) {
        made.entry(path.to_owned()).or_insert(line);
    }
}

/// Whether ADD unpacks a source, or may: `archive-*`, `$ARCHIVE`.
fn may_unpack(add: &Instruction, source: &str) -> bool {
    let name = source.trim_matches(['"', '\'']).rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map_or(name, |(_, end)| end);
    let open = end.contains(['*', '?', '[', '$']);
    open || add.unpacks(source.trim_matches(['"', '\'']))
}

/// An owner of `--chown` who is root.
fn is_root(owner: &str) -> bool {
    matches!(owner.split(':').next(), Some("root" | "0"))
}

/// A path and the directories above it, without the root.
pub(crate) fn ancestors<'p>(path: &'p str) -> impl Iterator<Item = &'p str> {
    let above = |path: &&'p str| Some(path.rsplit_once('/')?.0).filter(|above| !above.is_empty());
    std::iter::successors(Some(path), above).take(DEPTH_LIMIT + 1)
}

/// The nearest directory above a path that every system has.
pub(crate) fn system_above(path: &str) -> &str {
    ancestors(path).skip(1).find(|above| SYSTEM.contains(above)).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;
    use crate::read::dockerfile::Dockerfile;
    use crate::read::dockerfile::setup::setups;

    fn owners(text: &str) -> Owners {
        let file = Dockerfile::read(catalog::testing::catalog(), text, &Context::new());
        let all = setups(&file);
        let stages: Vec<_> =
            file.stages.iter().zip(&all).map(|(stage, all)| (stage, all.as_slice())).collect();
        Owners::of(&stages)
    }

    #[test]
    fn what_root_makes_and_what_is_given_away() {
        let text = "FROM ubuntu:24.04\nRUN mkdir -p /opt/hf /opt/app /data/a\nWORKDIR /srv/w\nCOPY --chown=u \
            x.py /opt/app/\nRUN chown u /data && chown -R u /models\nUSER u\nWORKDIR /srv/own\n";
        let owners = owners(text);
        assert_eq!(owners.made("/opt/hf"), Some(2));
        assert_eq!(owners.made("/data"), Some(2));
        assert_eq!(owners.made("/srv/w"), Some(3));
        assert_eq!((owners.made("/opt"), owners.made("/srv/own")), (None, None));
        let given =
            ["/opt/hf", "/opt/app", "/data", "/data/a", "/models/x"].map(|path| owners.is_given(path));
        assert_eq!(given, [false, true, true, false, true]);
        let late = (0, 9);
        let free = ["/opt/x", "/tmp/x", "/data/b", "/srv/own/x"].map(|path| owners.may_write(path, late));
        assert_eq!(free, [false, true, true, true]);
        assert!(!owners.may_write("/data/b", (0, 1)));
    }

    #[test]
    fn add_unpacks_archives_only() {
        let is_given = |add: &str| owners(&format!("FROM ubuntu:24.04\n{add}\n")).is_given("/opt/a/b");
        for add in ["ADD a.tar.gz /opt/a", "ADD [\"a.TGZ\", \"/opt/a\"]", "ADD $A /opt/a", "ADD a-* /opt/a"] {
            assert!(is_given(add), "{add}");
        }
        let others = [
            "ADD train.toml /opt/a",
            "ADD a.txt b.tokenizer /opt/a/",
            "ADD *.torrent /opt/a/",
            "ADD https://example.com/a.tar.gz /opt/a/",
            "ADD --unpack=false a.tar /opt/a/",
        ];
        for add in others {
            assert!(!is_given(add), "{add}");
        }
    }

    #[test]
    fn what_nobody_knows() {
        for line in ["RUN chown u $X", "RUN find /data | xargs chown u", "RUN umask 0 && mkdir /x"] {
            assert!(owners(&format!("FROM ubuntu:24.04\n{line}\n")).is_given("/models"), "{line}");
        }
    }
}
