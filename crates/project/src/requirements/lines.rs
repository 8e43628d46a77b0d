//! A requirements file as pip reads it: one requirement or option a line, `\` goes on, `#` begins a comment.

/// A line of a requirements file, lines that go on joined and comments gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    /// Where it begins, from 1.
    pub line: usize,
    /// Bytes before its first character in the file; a byte order mark and the `\r` of line ends count.
    pub start: usize,
}

impl Line {
    fn new(part: &str, line: usize, offset: usize) -> Line {
        let blank = part.len() - part.trim_start().len();
        Line { text: part.trim_start().to_owned(), line, start: offset + blank }
    }
}

/// The lines that are neither empty nor comments.
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut goes_on = false;
    let content = text.trim_start_matches('\u{feff}');
    let mut offset = text.len() - content.len();
    for (index, whole) in content.split_inclusive('\n').enumerate() {
        let line = without_comment(whole.trim_end_matches('\n').trim_end_matches('\r'));
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            // A requirement may begin below an empty line that goes on.
            Some(open) if open.text.is_empty() => *open = Line::new(part, open.line, offset),
            Some(open) => open.text.push_str(part),
            None => lines.push(Line::new(part, index + 1, offset)),
        }
        goes_on = more;
        offset += whole.len();
    }
    for line in &mut lines {
        line.text.truncate(line.text.trim_end().len());
    }
    lines.retain(|line| !line.text.is_empty());
    lines
}

/// A comment begins a line or follows a space; `#egg=` in an address is none.
fn without_comment(line: &str) -> &str {
    let begins = |offset: &usize| *offset == 0 || line[..*offset].ends_with(char::is_whitespace);
    let offset = line.match_indices('#').map(|(offset, _)| offset).find(begins);
    offset.map_or(line, |offset| &line[..offset]).trim_end()
}

/// An option of a line, and its value: `-r`, `other.txt`; `None` for a requirement.
pub fn option(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with('-') {
        return None;
    }
    let short = ["-r", "-c", "-e", "-i", "-f"].into_iter().filter(|_| !line.starts_with("--"));
    if let Some(name) = short.into_iter().find(|name| line.starts_with(name)) {
        return Some((name, line[name.len()..].trim_start().trim_start_matches('=')));
    }
    let end = line.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(line.len());
    Some((&line[..end], line[end..].trim_start().trim_start_matches('=').trim_start()))
}

/// A requirement without what pip takes behind it: `--hash=…`, `--config-settings …`.
pub fn bare(line: &str) -> &str {
    line.split(" --").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_comments() {
        let text = "# head\ntorch==2.6.0 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\n\nx  # why\n\
            git+https://h/a#egg=b\n";
        let read: Vec<(usize, String)> =
            lines(text).into_iter().map(|one| (one.line, bare(&one.text).to_owned())).collect();
        let expected = [(2, "torch==2.6.0"), (6, "x"), (7, "git+https://h/a#egg=b")];
        assert_eq!(read, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn offsets_count_the_mark_and_line_ends() {
        let text = "\u{feff}# head\r\n  torch==2.6.0 \\\r\n  --hash=sha256:a\r\n\\\n numpy<2\n";
        let found: Vec<&str> = lines(text).iter().map(|one| &text[one.start..one.start + 5]).collect();
        assert_eq!(found, ["torch", "numpy"]);
        assert_eq!(lines(text).iter().map(|one| one.line).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn options() {
        assert_eq!(option("-r other.txt"), Some(("-r", "other.txt")));
        assert_eq!(option("-rother.txt"), Some(("-r", "other.txt")));
        assert_eq!(option("--index-url https://h"), Some(("--index-url", "https://h")));
        assert_eq!(option("--extra-index-url=https://h"), Some(("--extra-index-url", "https://h")));
        assert_eq!(option("--pre"), Some(("--pre", "")));
        assert_eq!(option("torch"), None);
    }
}
