//! Changes of a file that are certain to remove a finding: what a rule knows of them, and the bytes that it
//! comes to. Where a word is not exactly once where the rule means it, there is no edit.

use std::ops::Range;

use diagnostic::{Edit, Position};

/// Text in place of some bytes of a file; an empty range: the text is inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub range: Range<usize>,
    pub text: String,
}

/// A change, as a rule knows it. Lines are from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A word of a line, whole and once in it, by another.
    Word { line: usize, old: String, new: String },
    /// A key of a line, which is before a colon, by another.
    Key { line: usize, old: String, new: String },
    /// The value behind a name and `=`, `:` or a blank, whole, by another. Quotes around it stay.
    Value { line: usize, name: String, old: String, new: String },
    /// The value behind a key and a colon, put in double quotes; it has no quotes and no blanks.
    Quote { line: usize, key: String },
    /// Text behind a word of a line that is once in it.
    Behind { line: usize, word: String, text: String },
    /// The end of a line, which is this, by another.
    End { line: usize, old: String, new: String },
    /// The whole line goes: a key with its value and nothing behind it.
    Line { line: usize, key: String, value: String },
    /// A word that is once in the whole file, by another.
    Only { old: String, new: String },
    /// An item of the list below a key of YAML or JSON, put in double quotes; it is one plain word.
    QuoteItem { line: usize, index: usize },
    /// Bytes of the whole file.
    Bytes(Replacement),
}

impl Change {
    pub(crate) fn word(line: usize, old: &str, new: &str) -> Change {
        Change::Word { line, old: old.to_owned(), new: new.to_owned() }
    }

    pub(crate) fn key(line: usize, old: &str, new: &str) -> Change {
        Change::Key { line, old: old.to_owned(), new: new.to_owned() }
    }

    pub(crate) fn value(line: usize, name: &str, old: &str, new: &str) -> Change {
        Change::Value { line, name: name.to_owned(), old: old.to_owned(), new: new.to_owned() }
    }

    pub(crate) fn end(line: usize, old: &str, new: &str) -> Change {
        Change::End { line, old: old.to_owned(), new: new.to_owned() }
    }

    pub(crate) fn quote(line: usize, key: &str) -> Change {
        Change::Quote { line, key: key.to_owned() }
    }

    /// What it comes to in a text; `None` where the text is not as the rule takes it to be.
    pub(crate) fn replacement(&self, text: &str) -> Option<Replacement> {
        let (range, new) = match self {
            Change::Bytes(replacement) => return Some(replacement.clone()),
            Change::Only { old, new } => (only(text, old)?, new.clone()),
            Change::QuoteItem { line, index } => {
                let range = item(text, *line, *index)?;
                let new = format!("\"{}\"", &text[range.clone()]);
                (range, new)
            }
            Change::Line { line, key, value } => (whole_line(text, *line, key, value)?, String::new()),
            Change::Word { line, old, new } => (once(text, *line, old, |_| Some(0))?, new.clone()),
            Change::Key { line, old, new } => {
                (once(text, *line, old, |rest| is_key(rest).then_some(0))?, new.clone())
            }
            Change::Value { line, name, old, new } => {
                let start = once(text, *line, name, |rest| value_at(rest, old))?.end;
                (start..start + old.len(), new.clone())
            }
            Change::Quote { line, key } => {
                let start = once(text, *line, key, |rest| is_key(rest).then(|| plain(rest))?)?.end;
                let word = text[start..].split([' ', ',', '}', ']', '\n', '\r']).next()?;
                (start..start + word.len(), format!("\"{word}\""))
            }
            Change::Behind { line, word, text: new } => {
                let end = once(text, *line, word, |_| Some(0))?.end;
                (end..end, new.clone())
            }
            Change::End { line, old, new } => {
                let (start, whole) = line_of(text, *line)?;
                let end = start + whole.len();
                (end - whole.ends_with(old.as_str()).then_some(old.len())?..end, new.clone())
            }
        };
        Some(Replacement { range, text: new })
    }
}

/// The edits of a file's text that changes come to; none where one of them does not fit the text.
pub(crate) fn edits(changes: &[Change], file: &str, text: &str) -> Vec<Edit> {
    let edit = |change: &Change| {
        let Replacement { range, text: new } = change.replacement(text)?;
        let at = |byte| Position::of(text, byte);
        Some(Edit { file: file.to_owned(), start: at(range.start), end: at(range.end), text: new })
    };
    changes.iter().map(edit).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The only place of a word in the whole text.
fn only(text: &str, word: &str) -> Option<Range<usize>> {
    let mut places = (1..=text.lines().count()).filter_map(|line| once(text, line, word, |_| Some(0)));
    places.next().filter(|_| text.matches(word).count() == 1)
}

/// A line with its end, where it is a key with this value and nothing else.
fn whole_line(text: &str, line: usize, key: &str, value: &str) -> Option<Range<usize>> {
    let (start, whole) = line_of(text, line)?;
    let rest = whole.trim().trim_start_matches(['"', '\'']).strip_prefix(key)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim();
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
    (rest.trim_matches(['"', '\'']) == value).then_some(start..end)
}

/// Where a line begins, and its text without its end.
fn line_of(text: &str, line: usize) -> Option<(usize, &str)> {
    let mut start = 0;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            return Some((start, whole.trim_end_matches('\n').trim_end_matches('\r')));
        }
        start += whole.len();
    }
    None
}

/// The only place of a word in a line behind which stands what is wanted. The range begins at the word and
/// ends as many bytes behind it as `behind` says.
fn once(text: &str, line: usize, word: &str, behind: impl Fn(&str) -> Option<usize>) -> Option<Range<usize>> {
    let (start, whole) = line_of(text, line)?;
    if word.is_empty() || word.contains('\n') {
        return None;
    }
    let mut places = whole.match_indices(word).filter_map(|(at, _)| {
        let (before, after) = (&whole[..at], &whole[at + word.len()..]);
        let skipped = behind(after)?;
        let end = at + word.len() + skipped;
        let bare = skipped > 0 || !joins(word.chars().next_back(), after.chars().next());
        (bare && !joins(before.chars().next_back(), word.chars().next())).then_some(at..end)
    });
    let first = places.next()?;
    places.next().is_none().then_some(start + first.start..start + first.end)
}

/// Whether two neighbours are letters of one word.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    letter(one) && letter(other)
}

/// Whether a colon follows, behind the quote of a key in quotes.
fn is_key(rest: &str) -> bool {
    rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':')
}

/// How far behind a name its value begins, if it is this one.
fn value_at(rest: &str, value: &str) -> Option<usize> {
    let name_ends = rest.trim_start_matches(['"', '\'']);
    let behind = name_ends.trim_start();
    let inner =
        behind.strip_prefix([':', '=']).or_else(|| (behind.len() < name_ends.len()).then_some(behind))?;
    let inner = inner.trim_start();
    let inner = inner.strip_prefix(['"', '\'']).unwrap_or(inner);
    let after = inner.strip_prefix(value)?;
    (!joins(value.chars().next_back(), after.chars().next())).then(|| rest.len() - inner.len())
}

/// The item of a list that is behind a key in the same line (`[a, b]`) or in the lines below (`- a`).
fn item(text: &str, line: usize, index: usize) -> Option<Range<usize>> {
    let (start, whole) = line_of(text, line)?;
    if let Some(open) = whole.find('[') {
        let inner = whole[open + 1..].split(']').next()?;
        let before: usize = inner.split(',').take(index).map(|part| part.len() + 1).sum();
        let part = inner.split(',').nth(index)?;
        let at = start + open + 1 + before + (part.len() - part.trim_start().len());
        return is_plain(part.trim()).then(|| at..at + part.trim().len());
    }
    let mut items = (line + 1..).map_while(|number| line_of(text, number)).filter_map(|(start, whole)| {
        let trimmed = whole.trim_start();
        match trimmed.strip_prefix("- ") {
            Some(value) => Some(Some((start + whole.len() - value.trim_start().len(), value.trim_start()))),
            // Comments and empty lines are between items, everything else ends the list.
            None => (!trimmed.is_empty() && !trimmed.starts_with('#')).then_some(None),
        }
    });
    let (at, value) = items.nth(index)??;
    let word = value.split(" #").next()?.trim_end();
    is_plain(word).then(|| at..at + word.len())
}

/// A word of YAML that needs no quotes to be one.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
}

/// How far behind a key its value begins, where it is one plain word.
fn plain(rest: &str) -> Option<usize> {
    let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start();
    let word = value.split([' ', ',', '}', ']', '\r']).next()?;
    let fits = is_plain(word);
    let behind = value[word.len()..].trim_start();
    let ends = behind.is_empty() || behind.starts_with([',', '}', ']', '#']);
    (fits && ends).then(|| rest.len() - value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, change: &Change) -> Option<String> {
        let Replacement { range, text: new } = change.replacement(text)?;
        let mut out = text.to_owned();
        out.replace_range(range, &new);
        Some(out)
    }

    #[test]
    fn words_and_keys() {
        let word = |text, old, new| changed(text, &Change::word(2, old, new));
        assert_eq!(word("a\nx install y\r\n", "install", "i -y").as_deref(), Some("a\nx i -y y\r\n"));
        assert_eq!(word("a\nab a-b b\n", "b", "c").as_deref(), Some("a\nab a-b c\n"));
        assert_eq!(word("a\nb b\n", "b", "c"), None, "twice");
        assert_eq!(word("a\nab\n", "b", "c"), None, "part of a word");
        assert_eq!(word("a\n", "b", "c"), None, "no such line");
        let key = |text| changed(text, &Change::key(1, "b", "c"));
        assert_eq!(key("- {a: b, \"b\": 1}").as_deref(), Some("- {a: b, \"c\": 1}"));
        assert_eq!(key("b : b").as_deref(), Some("c : b"));
        assert_eq!(key("{b: 1, b: 2}"), None);
    }

    #[test]
    fn values() {
        let value = |text| changed(text, &Change::value(1, "A", "yes", "1"));
        for (text, after) in [
            ("A=yes", "A=1"),
            ("export A='yes' # A", "export A='1' # A"),
            ("  A: \"yes\"\r\n", "  A: \"1\"\r\n"),
            ("ENV A yes", "ENV A 1"),
            ("\"A\" : yes,", "\"A\" : 1,"),
        ] {
            assert_eq!(value(text).as_deref(), Some(after), "{text}");
        }
        for text in ["A=yes A=yes", "A=yesterday", "BA=yes", "A==yes", "A=$yes"] {
            assert_eq!(value(text), None, "{text}");
        }
        let quoted = |text| changed(text, &Change::Quote { line: 1, key: "value".into() });
        assert_eq!(quoted("value: 8  # why").as_deref(), Some("value: \"8\"  # why"));
        assert_eq!(quoted("{name: a, value: on}").as_deref(), Some("{name: a, value: \"on\"}"));
        assert_eq!((quoted("value: a b"), quoted("value: 'a'"), quoted("value: *a")), (None, None, None));
    }

    #[test]
    fn lines_and_ends() {
        let line = |text| changed(text, &Change::Line { line: 2, key: "b".into(), value: "3".into() });
        assert_eq!(line("a\nb: '3'\r\nc").as_deref(), Some("a\nc"));
        assert_eq!(line("a\n\"b\" : 3").as_deref(), Some("a\n"));
        assert_eq!(
            (line("a\nb: 3 # why\n"), line("a\nb:\n  3\n"), line("a\nb: {c: 3}\n")),
            (None, None, None)
        );
        let item = |text, index| changed(text, &Change::QuoteItem { line: 1, index });
        assert_eq!(item("d: [0, 1]", 1).as_deref(), Some("d: [0, \"1\"]"));
        assert_eq!(
            item("d:\n  # x\n  - 0\n  - 12 # y\n", 1).as_deref(),
            Some("d:\n  # x\n  - 0\n  - \"12\" # y\n")
        );
        assert_eq!(
            (item("d:\n  - 0\ne:\n  - 1\n", 1), item("d: [0]", 1), item("d: ['0']", 0)),
            (None, None, None)
        );
        let only = |text| changed(text, &Change::Only { old: "A=\"x\"".into(), new: "A=x".into() });
        assert_eq!(only("a\n- A=\"x\"\n").as_deref(), Some("a\n- A=x\n"));
        assert_eq!(only("A=\"x\"\nA=\"x\"\n"), None);
        assert_eq!(changed("a\\ \r\nb", &Change::end(1, "\\ ", "\\")).as_deref(), Some("a\\\r\nb"));
        assert_eq!(changed("a\\\r\nb", &Change::end(1, "\\ ", "\\")), None);
        let behind = Change::Behind { line: 1, word: "install".into(), text: " -y".into() };
        assert_eq!(changed("apt-get install é", &behind).as_deref(), Some("apt-get install -y é"));
    }
}
