//! The lines of the keys of a file in YAML, from the indentation.

use std::collections::{BTreeMap, BTreeSet};

/// The lines of keys.
#[derive(Debug, Default)]
pub(crate) struct KeyLines {
    lines: BTreeMap<Vec<String>, usize>,
    /// The first key that stands twice in one mapping: line and key.
    pub twice: Option<(usize, String)>,
}

impl KeyLines {
    /// Reads the keys in block style; those in flow style (`{a: b}`) have the line of the key above them.
    pub(super) fn read(text: &str) -> KeyLines {
        let mut key_lines = KeyLines::default();
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut block = None;
        // The keys of the mappings that are open, by the column of their keys.
        let mut mappings: Vec<(usize, BTreeSet<String>)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let trimmed = line.trim();
            if trimmed.is_empty() || block.is_some_and(|outer| indent > outer) {
                continue;
            }
            block = None;
            if trimmed.starts_with('#') {
                continue;
            }
            if trimmed == "---" {
                mappings.clear();
            }
            // An item of a list ends the mapping of the item before it.
            let item = trimmed.starts_with("- ") || trimmed == "-";
            mappings.retain(|(column, _)| *column < indent || (*column == indent && !item));
            let Some((indent, key, value)) = key(line, indent) else { continue };
            if item {
                mappings.retain(|(column, _)| *column < indent);
            }
            let known = mappings.iter_mut().find(|(column, _)| *column == indent);
            let first = match known {
                Some((_, keys)) => keys.insert(key.clone()),
                None => {
                    mappings.push((indent, BTreeSet::from([key.clone()])));
                    true
                }
            };
            if !first {
                key_lines.twice = key_lines.twice.or(Some((index + 1, key.clone())));
            }
            while open.last().is_some_and(|(outer, _)| *outer >= indent) {
                open.pop();
            }
            open.push((indent, key));
            key_lines.lines.entry(open.iter().map(|(_, key)| key.clone()).collect()).or_insert(index + 1);
            if value.starts_with(['|', '>']) {
                block = Some(indent);
            }
        }
        key_lines
    }

    /// The line of a key.
    pub(super) fn exact(&self, path: &[&str]) -> Option<usize> {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.lines.get(&path).copied()
    }
}

/// The key of a line, the column in which it begins, and what stands behind it.
fn key(line: &str, indent: usize) -> Option<(usize, String, &str)> {
    let mut rest = &line[indent..];
    let mut column = indent;
    // `- key: value`: the key of an item of a list.
    while let Some(item) = rest.strip_prefix("- ") {
        let inner = item.trim_start();
        column += rest.len() - inner.len();
        rest = inner;
    }
    let (key, value) = match rest.chars().next()? {
        quote @ ('"' | '\'') => {
            let end = rest[1..].find(quote)? + 1;
            (&rest[1..end], rest[end + 1..].trim_start().strip_prefix(':')?)
        }
        _ => rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?,
    };
    (!key.starts_with(['{', '[', '#'])).then(|| (column, key.trim().to_owned(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_keys() {
        let text = "services:\n  a:\n    deploy: {resources: {x: y}}\n    command: |\n      not: akey\n    \
            devices:\n      - driver: n\n        count: 1\n  \"b\":\n    image: c:d\n";
        let key_lines = KeyLines::read(text);
        assert_eq!(key_lines.exact(&["services", "a", "deploy"]), Some(3));
        assert_eq!(key_lines.exact(&["services", "a", "devices", "count"]), Some(8));
        assert_eq!(key_lines.exact(&["services", "b", "image"]), Some(10));
        assert_eq!(key_lines.exact(&["services", "a", "command", "not"]), None);
        assert_eq!(key_lines.twice, None);
    }

    #[test]
    fn keys_that_stand_twice() {
        let twice = |text: &str| KeyLines::read(text).twice;
        assert_eq!(twice("a:\n  b: 1\n  c: 2\n  b: 3\n"), Some((4, "b".to_owned())));
        assert_eq!(twice("a:\n  b: 1\nc:\n  b: 1\n"), None);
        assert_eq!(twice("a:\n  - b: 1\n    c: 2\n  - b: 1\n    c: 2\n"), None);
        assert_eq!(twice("a:\n- b: 1\n- b: 1\nc:\n- b: 1\n"), None);
        assert_eq!(twice("a:\n  - b: {c: 1}\n    d: {c: 1}\n  - c: 1\n---\na: 1\n"), None);
    }
}
