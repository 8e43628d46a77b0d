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
    let like = |part: &String, name: &&str| {
        let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
        is_like(&part, &name, |letter| *letter == '*', |letter, own| *letter == '?' || letter == own)
    };
    is_like(pattern, path, |part| part == "**", like)
}

/// Whether a pattern, in which some items stand for any number of others, matches all items. Only the last of
/// such items is tried again: the time is that of one comparison for each pair of items.
fn is_like<P, N>(
    pattern: &[P],
    items: &[N],
    any: impl Fn(&P) -> bool,
    like: impl Fn(&P, &N) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    // Behind the last `*`, and the item that it takes next.
    let mut again: Option<(usize, usize)> = None;
    while item < items.len() {
        match pattern.get(at) {
            Some(part) if any(part) => {
                at += 1;
                again = Some((at, item));
            }
            Some(part) if like(part, &items[item]) => {
                at += 1;
                item += 1;
            }
            _ => {
                let Some((behind, taken)) = again else { return false };
                again = Some((behind, taken + 1));
                (at, item) = (behind, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(any)
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
        assert_eq!(by("a/**/b/*.t?t\n", "a/x/b/y/b/n.txt"), Some(1));
        assert_eq!(by("a/**/b/*.t?t\n", "a/x/b/y/n.txt"), None);
        assert_eq!(by("*a*b*\n", "xaab"), Some(1));
        assert_eq!(by("*a*b\n", "xabc"), None);
    }
}
