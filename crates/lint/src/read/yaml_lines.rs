//! The lines of the keys and items of YAML in block style, by their path.

use std::collections::BTreeMap;

/// The lines of keys and of items of lists.
#[derive(Debug, Default)]
pub(crate) struct YamlLines {
    lines: BTreeMap<Vec<String>, usize>,
}

/// A key or an item that is open, with its column.
#[derive(Debug)]
enum Open {
    Key(usize, String),
    Item(usize, usize),
}

impl Open {
    fn column(&self) -> usize {
        match self {
            Open::Key(column, _) | Open::Item(column, _) => *column,
        }
    }

    fn step(&self) -> String {
        match self {
            Open::Key(_, key) => key.clone(),
            Open::Item(_, index) => index.to_string(),
        }
    }
}

impl YamlLines {
    /// Reads one document whose first line has this number. What is in flow style (`{a: b}`) has the line of
    /// the key above it.
    pub(crate) fn read(text: &str, first: usize) -> YamlLines {
        let mut lines = BTreeMap::new();
        let mut open: Vec<Open> = Vec::new();
        let mut block: Option<usize> = None;
        for (index, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            if line.trim().is_empty() || block.is_some_and(|outer| indent > outer) {
                continue;
            }
            block = None;
            if line.trim_start().starts_with('#') {
                continue;
            }
            let (column, rest) = items(line, indent, &mut open, |open| note(open, index + first, &mut lines));
            let value = match key(rest) {
                Some((key, value)) => {
                    open.retain(|one| one.column() < column);
                    open.push(Open::Key(column, key));
                    note(&open, index + first, &mut lines);
                    value
                }
                None => rest.trim(),
            };
            let value = value.trim_start_matches(|letter: char| !"|>{[\"'".contains(letter) && letter != ' ');
            if value.trim_start().starts_with(['|', '>']) {
                block = open.last().map(Open::column);
            }
        }
        YamlLines { lines }
    }

    /// The line of a path, or of the nearest key above it.
    pub(crate) fn nearest(&self, path: &[String]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| self.lines.get(&path[..length]).copied())
    }

    /// The key of each line, or the item that begins there: `spec.containers[0].image`. Of a line with both
    /// it is the item.
    pub(crate) fn keys(&self) -> BTreeMap<usize, String> {
        let mut outer: BTreeMap<usize, &Vec<String>> = BTreeMap::new();
        for (path, line) in &self.lines {
            let known = outer.entry(*line).or_insert(path);
            if path.len() < known.len() {
                *known = path;
            }
        }
        outer.into_iter().map(|(line, path)| (line, joined(path))).collect()
    }
}

/// A path as kubectl prints it.
fn joined(path: &[String]) -> String {
    let mut text = String::new();
    for step in path {
        match step.parse::<usize>() {
            Ok(_) => text.extend(["[", step, "]"]),
            Err(_) if text.is_empty() => text.push_str(step),
            Err(_) => text.extend([".", step]),
        }
    }
    text
}

fn note(open: &[Open], line: usize, lines: &mut BTreeMap<Vec<String>, usize>) {
    lines.entry(open.iter().map(Open::step).collect()).or_insert(line);
}

/// Opens the items of lists that begin in a line; the column and the text behind them.
fn items<'l>(
    line: &'l str,
    indent: usize,
    open: &mut Vec<Open>,
    mut opened: impl FnMut(&[Open]),
) -> (usize, &'l str) {
    let (mut column, mut rest) = (indent, &line[indent..]);
    while let Some(inner) = rest.strip_prefix('-').filter(|inner| inner.is_empty() || inner.starts_with(' '))
    {
        open.retain(|one| one.column() <= column);
        // A key in the same column is the list's own, if its items are not indented.
        match open.last_mut() {
            Some(Open::Item(at, index)) if *at == column => *index += 1,
            _ => open.push(Open::Item(column, 0)),
        }
        opened(open);
        let text = inner.trim_start();
        column += rest.len() - text.len();
        rest = text;
    }
    (column, rest)
}

/// The key of a line and what is behind it.
fn key(rest: &str) -> Option<(String, &str)> {
    let (key, value) = match rest.chars().next()? {
        quote @ ('"' | '\'') => {
            let end = rest[1..].find(quote)? + 1;
            (&rest[1..end], rest[end + 1..].trim_start().strip_prefix(':')?)
        }
        '{' | '[' | '#' | '&' | '*' => return None,
        _ => rest.split_once(": ").or_else(|| Some((rest.trim_end().strip_suffix(':')?, "")))?,
    };
    Some((key.trim().to_owned(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_paths() {
        let text = "a:\n- b: 1\n  c: |\n    d: 2\n- b: 2\n  e:\n    - f\n    - g: {h: 1}\nz: 1\n";
        let lines = YamlLines::read(text, 10);
        let of = |path: &str| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            lines.nearest(&path)
        };
        assert_eq!([of("a"), of("a.0.b"), of("a.0.c.d")], [Some(10), Some(11), Some(12)]);
        assert_eq!([of("a.1.b"), of("a.1.e.1.g.h"), of("a.1.e.0")], [Some(14), Some(17), Some(16)]);
        assert_eq!([of("z"), of("y")], [Some(18), None]);
        let keys = lines.keys();
        let at = |line| keys.get(&line).map(String::as_str);
        assert_eq!([at(10), at(11), at(12)], [Some("a"), Some("a[0]"), Some("a[0].c")]);
        assert_eq!([at(17), at(18)], [Some("a[1].e[1]"), Some("z")]);
        assert_eq!(at(13), None, "the text of a block has no key");
    }
}
