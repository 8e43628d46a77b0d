//! Which file of the build context stands at a place of the image: WORKDIR, COPY, ADD, bind mounts.

use rpds::{RedBlackTreeSet, Vector};

/// Where one is, and what was copied to where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copied {
    /// The working directory; it begins empty, which is that of the base image.
    pub workdir: String,
    copies: Vector<Copy>,
    /// Names of files that a command changed or made.
    changed: RedBlackTreeSet<String>,
}

/// One COPY, ADD or bind mount.
#[derive(Debug)]
struct Copy {
    /// Paths in the context; empty where they come from elsewhere or are not known.
    sources: Vec<String>,
    target: String,
    /// Whether the target is certainly a directory.
    into: bool,
}

impl Copied {
    /// WORKDIR, `cd`.
    pub(crate) fn enter(&mut self, directory: &str) {
        self.workdir = join(&self.workdir, directory);
    }

    /// Files of the context were copied, or what else has no sources that are known.
    pub(crate) fn copy(&mut self, sources: &[String], target: &str, known: bool) {
        let into = sources.len() > 1 || target.ends_with('/') || target.ends_with("/.") || target == ".";
        let sources = match known {
            true => sources.iter().map(|source| join("", source.trim_start_matches('/'))).collect(),
            false => Vec::new(),
        };
        self.copies.push_back_mut(Copy { sources, target: join(&self.workdir, target), into });
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
        let path = join(&self.workdir, path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut found = Vec::new();
        if self.changed.contains(name) {
            return found;
        }
        for copy in self.copies.iter().rev() {
            let below = below(&path, &copy.target);
            if copy.sources.is_empty() {
                match below {
                    Some(_) => break,
                    None => continue,
                }
            }
            for source in &copy.sources {
                let own = source.rsplit('/').next().unwrap_or_default();
                match below {
                    Some("") if !copy.into => found.push(source.clone()),
                    Some(rest) if !rest.is_empty() => {
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

/// What of a path lies below a directory; empty where it is the directory itself.
fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    match directory {
        "" => (!path.starts_with('/')).then_some(path),
        "/" => path.strip_prefix('/'),
        _ => {
            let rest = path.strip_prefix(directory)?;
            match rest.is_empty() {
                true => Some(rest),
                false => rest.strip_prefix('/'),
            }
        }
    }
}

/// A path from a directory, `.` and `..` resolved; both may be relative.
pub(crate) fn join(directory: &str, path: &str) -> String {
    let whole = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{directory}/{path}"),
    };
    let absolute = path.starts_with('/') || directory.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
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
        assert_eq!(join("/a", "/b"), "/b");
        assert_eq!(join("", "../x"), "../x");
        assert_eq!(join("/", "../x"), "/x");
    }
}
