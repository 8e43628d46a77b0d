//! `.dockerignore`: which files of a context stay behind, by Docker's rules.
//!
//! The rules are those of Docker's documentation on .dockerignore files and of moby's patternmatcher:
//! patterns are relative to the context, the last one that matches decides, `!` takes a path back in, `**`
//! stands for any number of folders, and a pattern that matches a folder matches all that is in it.

use regex::Regex;

use crate::error::Error;

const PATTERN: &str = "a valid pattern of .dockerignore";

/// The patterns of one file.
#[derive(Debug, Default)]
pub struct Ignore {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    matcher: Regex,
    takes_back: bool,
    /// The folders that an exception may lie in, to its first wildcard.
    beginning: String,
}

impl Ignore {
    /// The text of a .dockerignore file. An error names the pattern that cannot be understood.
    pub fn parse(text: &str) -> Result<Ignore, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut patterns = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let line = line.trim();
            let (takes_back, pattern) = match line.strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, line),
            };
            let pattern = clean(pattern);
            if pattern.is_empty() || pattern == "." {
                continue;
            }
            let regex = expression(&pattern)
                .ok_or_else(|| Error::Invalid { text: line.to_owned(), expected: PATTERN })?;
            let matcher = Regex::new(&regex)
                .map_err(|_| Error::Invalid { text: line.to_owned(), expected: PATTERN })?;
            let beginning = pattern.split(['*', '?', '[', '\\']).next().unwrap_or_default().to_owned();
            patterns.push(Pattern { matcher, takes_back, beginning });
        }
        Ok(Ignore { patterns })
    }

    /// Whether a path of the context (`src/main.py`, no leading slash) stays behind.
    pub fn excludes(&self, path: &str) -> bool {
        let mut excluded = false;
        for pattern in &self.patterns {
            // A pattern decides again only where it would change something.
            if pattern.takes_back == excluded && ancestors(path).any(|path| pattern.matcher.is_match(path)) {
                excluded = !pattern.takes_back;
            }
        }
        excluded
    }

    /// Whether nothing below an excluded folder can be taken back in, so that it need not be walked.
    pub fn excludes_all_below(&self, folder: &str) -> bool {
        let within = format!("{folder}/");
        self.excludes(folder)
            && !self.patterns.iter().any(|pattern| {
                let beginning = &pattern.beginning;
                pattern.takes_back
                    && (beginning.starts_with(&within) || within.starts_with(beginning.as_str()))
            })
    }
}

/// The path and every folder above it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}

/// As Go's filepath.Clean writes it, without the leading slash.
fn clean(pattern: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." if !parts.is_empty() && parts.last() != Some(&"..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// The pattern as a regular expression; `None` where a class or an escape does not end.
fn expression(pattern: &str) -> Option<String> {
    let mut regex = String::from("^");
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.peek() == Some(&'*') => {
                rest.next();
                if rest.peek() == Some(&'/') {
                    rest.next();
                }
                regex.push_str(if rest.peek().is_none() { ".*" } else { "(.*/)?" });
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => {
                let class: String = std::iter::from_fn(|| rest.next_if(|c| *c != ']')).collect();
                rest.next()?;
                regex.push_str(&format!("[{}]", class.replace('[', "\\[")));
            }
            '\\' => regex.push_str(&regex::escape(&rest.next()?.to_string())),
            other => regex.push_str(&regex::escape(&other.to_string())),
        }
    }
    regex.push('$');
    Some(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(text: &str, path: &str) -> bool {
        Ignore::parse(text).unwrap().excludes(path)
    }

    #[test]
    fn patterns_of_the_documentation() {
        for (pattern, path, expected) in [
            ("*/temp*", "somedir/temporary.txt", true),
            ("*/temp*", "temporary.txt", false),
            ("*/*/temp*", "somedir/subdir/temporary.txt", true),
            ("temp?", "tempa", true),
            ("temp?", "temp", false),
            ("**/*.go", "a/b/c.go", true),
            ("**/*.go", "c.go", true),
            ("*.md\n!README.md", "README.md", false),
            ("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", true),
            ("*.md\nREADME-secret.md\n!README*.md", "README-secret.md", false),
            ("# comment\n/foo/bar", "foo/bar", true),
            ("foo/bar", "foo/bar/deep/file", true),
            ("node_modules", "src/node_modules/x", false),
            ("**/node_modules", "src/node_modules/x", true),
            ("**", "anything/at/all", true),
            ("**\n!src\n**/__pycache__", "src/main.py", false),
            ("**\n!src\n**/__pycache__", "src/__pycache__/main.pyc", true),
            ("./a/../b/", "b/c", true),
            ("[a-c].txt", "b.txt", true),
            ("[^a-c].txt", "b.txt", false),
            ("a.txt", "abtxt", false),
            ("data/**", "data/x", true),
            ("  .git  ", ".git/HEAD", true),
            ("\\*.txt", "a.txt", false),
        ] {
            assert_eq!(excluded(pattern, path), expected, "{pattern:?} {path}");
        }
        assert!(Ignore::parse("[a").is_err());
    }

    #[test]
    fn enters_ignored_directories_that_have_exceptions() {
        let ignore = Ignore::parse("data\nout\n!data/keep/me.txt").unwrap();
        assert!(!ignore.excludes_all_below("data"));
        assert!(!ignore.excludes_all_below("data/keep"));
        assert!(ignore.excludes_all_below("data/other"));
        assert!(ignore.excludes_all_below("out"));
        assert!(!Ignore::parse("*\n!**/*.py").unwrap().excludes_all_below("src"));
    }
}
