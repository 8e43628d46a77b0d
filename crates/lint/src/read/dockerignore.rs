//! `.dockerignore`: patterns of paths that stay out of the build context; the last one that matches counts.
//!
//! A pattern also covers what is below a directory that it matches
//! (moby/patternmatcher:MatchesOrParentMatches).

/// What a file leaves out.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    line: usize,
    written: String,
    /// Its parts between slashes.
    parts: Vec<String>,
    exception: bool,
}

impl Ignored {
    pub(crate) fn read(text: &str) -> Ignored {
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        // Only a `#` in the first column begins a comment.
        let lines = lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
        let patterns = lines.map(|(index, line)| {
            let written = line.trim();
            let exception = written.starts_with('!');
            let bare = written.trim_start_matches('!').trim();
            let parts = bare.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned);
            Pattern { line: index + 1, written: written.to_owned(), parts: parts.collect(), exception }
        });
        Ignored { patterns: patterns.collect() }
    }

    /// The line that leaves a path out, with its text; nothing where an exception may bring back a part.
    pub(crate) fn by(&self, path: &str) -> Option<(usize, &str)> {
        let parts: Vec<&str> = path.split('/').collect();
        let covers = |pattern: &Pattern| (1..=parts.len()).any(|end| matches(&pattern.parts, &parts[..end]));
        let last = self.patterns.iter().rev().find(|pattern| covers(pattern))?;
        let back = |pattern: &Pattern| {
            let first = pattern.parts.first().map_or("", String::as_str);
            pattern.exception && (first.contains(['*', '?', '[']) || first == parts[0])
        };
        let known = !last.exception && !last.parts.is_empty() && !self.patterns.iter().any(back);
        // Classes of letters are left to docker.
        (known && !last.written.contains(['[', '\\'])).then_some((last.line, last.written.as_str()))
    }
}

/// Whether parts of a pattern match those of a path: `**` any number of them.
fn matches(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((first, rest)), _) if first == "**" => {
            (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((name, below))) => {
            let (first, name): (Vec<char>, Vec<char>) = (first.chars().collect(), name.chars().collect());
            is_like(&first, &name) && matches(rest, below)
        }
    }
}

/// `*` any letters, `?` one.
fn is_like(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => (0..=name.len()).any(|skipped| is_like(rest, &name[skipped..])),
        (Some(('?', rest)), Some((_, below))) => is_like(rest, below),
        (Some((first, rest)), Some((letter, below))) => first == letter && is_like(rest, below),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let by = |text: &str, path: &str| Ignored::read(text).by(path).map(|(line, _)| line);
        assert_eq!(by("*.txt\n", "a.txt"), Some(1));
        assert_eq!(by("*.txt\n", "b/a.txt"), None);
        assert_eq!(by("**/*.txt\n", "b/a.txt"), Some(1));
        assert_eq!(by("# x\n/data/\n", "data/train"), Some(2));
        assert_eq!(by("*.txt\n!a.txt\n", "a.txt"), None);
        assert_eq!(by("*\n!src\n", "a.txt"), Some(1));
        assert_eq!(by("*\n!src/**\n", "src"), None);
        assert_eq!(by("*.txt\n!*.md\n", "a.txt"), None);
        assert_eq!(by("data\n", "data2"), None);
        assert_eq!(by(" \n!\n.\n", "a"), None);
    }
}
