//! Which file of the build context stands at a place of the image: WORKDIR, COPY, ADD, bind mounts.

use rpds::{RedBlackTreeMap, RedBlackTreeSet, Vector};

/// Where one is, and what was copied to where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copied {
    /// The working directory; it begins empty, which is that of the base image.
    pub workdir: String,
    /// What was copied, by target.
    copies: RedBlackTreeMap<String, Vector<Copy>>,
    /// How often something was copied.
    count: usize,
    /// Names of files that a command changed or made.
    changed: RedBlackTreeSet<String>,
}

/// One COPY, ADD or bind mount.
#[derive(Debug)]
struct Copy {
    /// Its place among all, from 0.
    order: usize,
    /// Paths in the context; empty where they come from elsewhere or are not known.
    sources: Vec<String>,
    /// Whether the target is certainly a directory.
    into: bool,
}

/// The longest path that Linux opens, in bytes without the NUL behind it: PATH_MAX of
/// torvalds/linux:include/uapi/linux/limits.h.
pub(crate) const PATH_LIMIT_BYTES: usize = 4095;

/// The deepest path that is searched for among what was copied: each directory above it may be a target.
const DEPTH_LIMIT: usize = 256;

/// The most copies that are asked for one path, the last ones first.
const COPIES_LIMIT: usize = 256;

impl Copied {
    /// WORKDIR, `cd`: whether such a path may exist. The working directory stays the same where it may not.
    pub(crate) fn enter(&mut self, directory: &str) -> bool {
        let path = onto(&self.workdir, directory);
        let fits = path.len() <= PATH_LIMIT_BYTES;
        if fits {
            self.workdir = path;
        }
        fits
    }

    /// Files of the context were copied, or what else has no sources that are known.
    pub(crate) fn copy(&mut self, sources: &[String], target: &str, known: bool) {
        let into = sources.len() > 1 || target.ends_with('/') || target.ends_with("/.") || target == ".";
        let sources = match known {
            true => sources.iter().map(|source| join("", source.trim_start_matches('/'))).collect(),
            false => Vec::new(),
        };
        let target = onto(&self.workdir, target);
        let mut copies = self.copies.get(&target).cloned().unwrap_or_default();
        copies.push_back_mut(Copy { order: self.count, sources, into });
        self.copies.insert_mut(target, copies);
        self.count += 1;
    }

    /// A RUN ended: its working directory and its mounts are those of before; what it changed stays changed.
    pub(crate) fn leave(&mut self, before: Copied) {
        let changed = std::mem::take(&mut self.changed);
        *self = Copied { changed, ..before };
    }

    /// A command may have changed files of these names.
    pub(crate) fn changed(&mut self, text: &str) {
        let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let words = text.split(|letter: char| letter.is_whitespace() || "'\"();".contains(letter));
        for word in words.filter(|word| word.contains('.')) {
            self.changed.insert_mut(name(word));
        }
    }

    /// The paths in the context that may stand at a path of the image, the likeliest first; empty where
    /// nobody can tell.
    pub(crate) fn candidates(&self, path: &str) -> Vec<String> {
        let path = onto(&self.workdir, path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut found = Vec::new();
        if self.changed.contains(name) || path.matches('/').count() > DEPTH_LIMIT {
            return found;
        }
        let mut near: Vec<(&Copy, &str)> = targets_above(&path)
            .into_iter()
            .filter_map(|(target, below)| Some((self.copies.get(target)?, below)))
            .flat_map(|(copies, below)| copies.iter().rev().take(COPIES_LIMIT).map(move |one| (one, below)))
            .collect();
        near.sort_by_key(|(copy, _)| std::cmp::Reverse(copy.order));
        for (copy, below) in near.into_iter().take(COPIES_LIMIT) {
            if copy.sources.is_empty() {
                break;
            }
            for source in &copy.sources {
                let own = source.rsplit('/').next().unwrap_or_default();
                match below {
                    "" if !copy.into => found.push(source.clone()),
                    rest if !rest.is_empty() => {
                        if rest == own {
                            found.push(source.clone());
                        }
                        // A directory's content is copied, not the directory.
                        found.push(join(source, rest));
                    }
                    _ => {}
                }
            }
        }
        found.retain(|path| !path.starts_with(".."));
        found
    }
}

/// The paths to which something may have been copied so that a path is there: itself and the directories
/// above it, each with what of the path lies below it.
fn targets_above(path: &str) -> Vec<(&str, &str)> {
    let mut found = vec![(path, "")];
    for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
        found.push((&path[..at], &path[at + 1..]));
    }
    match path.strip_prefix('/') {
        Some(rest) if !rest.is_empty() => found.push(("/", rest)),
        None if !path.is_empty() => found.push(("", path)),
        _ => {}
    }
    found
}

/// A path from a directory, `.` and `..` resolved; both may be relative.
pub(crate) fn join(directory: &str, path: &str) -> String {
    match path.starts_with('/') {
        true => onto("", path),
        false => onto(&onto("", directory), path),
    }
}

/// The same from a directory that is resolved: thousands of WORKDIR lines add to one.
fn onto(directory: &str, path: &str) -> String {
    let mut whole = match path.starts_with('/') {
        true => "/".to_owned(),
        false => directory.to_owned(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if whole == "/" => {}
            ".." if whole.is_empty() || whole == ".." || whole.ends_with("/..") => enter(&mut whole, ".."),
            ".." => match whole.rfind('/') {
                Some(0) => whole.truncate(1),
                Some(end) => whole.truncate(end),
                None => whole.clear(),
            },
            _ => enter(&mut whole, part),
        }
    }
    whole
}

/// Appends a name to a path.
fn enter(path: &mut String, name: &str) {
    if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(workdir: &str, copies: &[(&str, &str)]) -> Copied {
        let mut copied = Copied::default();
        copied.enter(workdir);
        for (sources, target) in copies {
            let sources: Vec<String> = sources.split(' ').map(str::to_owned).collect();
            copied.copy(&sources, target, true);
        }
        copied
    }

    #[test]
    fn where_a_file_comes_from() {
        type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str, &'c [&'c str]);
        let cases: &[Case] = &[
            (
                "/app",
                &[("requirements.txt", ".")],
                "requirements.txt",
                &["requirements.txt", "requirements.txt/requirements.txt"],
            ),
            ("/app", &[("docker/r.txt", "/tmp/r.txt")], "/tmp/r.txt", &["docker/r.txt"]),
            ("", &[("r.txt", "./")], "r.txt", &["r.txt", "r.txt/r.txt"]),
            ("", &[(".", "/app")], "/app/a/r.txt", &["a/r.txt"]),
            ("/app", &[("a b", "/x/")], "/x/b", &["a/b", "b", "b/b"]),
            ("/app", &[("r.txt", "/x/")], "r.txt", &[]),
            ("", &[("../r.txt", ".")], "r.txt", &[]),
        ];
        for (workdir, copies, path, expected) in cases {
            assert_eq!(copied(workdir, copies).candidates(path), *expected, "{path}");
        }
    }

    #[test]
    fn what_nobody_can_tell() {
        let mut one = copied("/app", &[("r.txt", ".")]);
        one.changed("sed -i s/a/b/ ./r.txt");
        assert!(one.candidates("r.txt").is_empty());
        let mut other = copied("/app", &[("r.txt", ".")]);
        other.copy(&["/x".to_owned()], "/app", false);
        assert!(other.candidates("r.txt").is_empty());
    }

    #[test]
    fn paths() {
        assert_eq!(join("/a/b", "../c/./d"), "/a/c/d");
        assert_eq!(join("", "./x/"), "x");
        assert_eq!(
            (join(".", "x"), join("./a/", "x"), join("/a/../b", "x")),
            ("x".into(), "a/x".into(), "/b/x".into())
        );
        assert_eq!(join("/a", "/b"), "/b");
        assert_eq!(join("", "../x"), "../x");
        assert_eq!(join("/", "../x"), "/x");
        assert_eq!(join("..", "../x"), "../../x");
        assert_eq!((join("/a", ".."), join("a", ".."), join("", "")), ("/".into(), "".into(), "".into()));
    }

    #[test]
    fn paths_that_linux_cannot_open_are_not_followed() {
        let mut copied = Copied::default();
        assert!(copied.enter("/a"));
        assert!((0..2000).all(|_| copied.enter("d/")));
        assert!(!copied.enter(&"d/".repeat(100)));
        assert_eq!(copied.workdir.len(), 2 + 2 * 2000);
        assert!(copied.enter("/b"));
        copied.copy(&["r.txt".to_owned()], ".", true);
        assert!(copied.candidates(&"d/".repeat(DEPTH_LIMIT + 1)).is_empty());
        assert_eq!(copied.candidates("r.txt")[0], "r.txt");
    }

    #[test]
    fn last_copies_come_first_and_are_limited() {
        let mut copied = Copied::default();
        for number in 0..COPIES_LIMIT * 2 {
            copied.copy(&[format!("a{number}")], "/x/", true);
        }
        let candidates = copied.candidates("/x/f");
        assert_eq!((candidates.len(), candidates[0].as_str()), (COPIES_LIMIT, "a511/f"));
    }
}
