//! A shell script: its commands, its here-documents, the variables that it uses itself.

use catalog::Catalog;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use super::dockerfile::command::Command;
use super::dockerfile::expand::Variables;
use super::dockerfile::shell;
use super::dockerfile::text::Text;
use super::near::Near;
use super::posix::masked;
use crate::file::Over;

#[derive(Debug)]
pub(crate) struct Script {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub commands: Vec<Command>,
    /// Its here-documents: what a command gets as input, often the text of another file.
    pub documents: Vec<Document>,
    /// Here-documents without an end: the line on which each begins, from 1, and its end word.
    pub open_documents: Vec<(usize, String)>,
    /// Names used in it as `$NAME` or `${NAME…}`.
    pub uses: BTreeSet<String>,
    pub text: String,
    /// The programs in Python that it names, as far as they are known.
    pub programs: Vec<Over>,
    /// The configurations that these programs read, as far as they are known.
    pub files: Vec<Over>,
}

#[derive(Debug)]
pub(crate) struct Document {
    /// The line of the command that it belongs to, from 1.
    pub by: usize,
    /// Its lines, with their numbers.
    pub lines: Vec<(usize, String)>,
    /// Whether its end word is quoted, so that the shell leaves `$NAME` in it as it is.
    pub quoted: bool,
}

impl Near<Script> {
    /// The script that it is.
    pub(crate) fn script(&self, catalog: &'static Catalog) -> &Script {
        self.read_with(|over| Script::read(catalog, &over.text))
    }
}

impl Script {
    pub(crate) fn read(catalog: &'static Catalog, text: &str) -> Script {
        let (bare, documents, open_documents) = without_documents(text);
        let commands = shell::commands(&Text::lines(&bare, 1), &Variables::default());
        let (uses, text, programs) = (used(text), text.to_owned(), Vec::new());
        let files = Vec::new();
        Script { catalog, commands, documents, open_documents, uses, text, programs, files }
    }
}

/// A function of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellFunction {
    pub name: String,
    /// Its lines, from 1, that of its name included.
    pub lines: RangeInclusive<usize>,
}

/// Whether a line of a script is inside of a function.
pub(crate) fn in_functions(text: &str) -> impl Fn(usize) -> bool + use<> {
    let functions = functions(text);
    move |line| function_at(&functions, line).is_some()
}

/// The function that a line is inside of. The functions come in the order of the script.
pub(crate) fn function_at(functions: &[ShellFunction], line: usize) -> Option<&ShellFunction> {
    let at = functions.partition_point(|one| *one.lines.end() < line);
    functions.get(at).filter(|one| one.lines.contains(&line))
}

/// The functions that a script defines with braces: `name() { … }`, `function name { … }`.
pub(crate) fn functions(text: &str) -> Vec<ShellFunction> {
    let mask = masked(text);
    let lines = Text::lines(text, 1);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
    let mut found = Vec::new();
    let mut skip = 0;
    for (open, _) in mask.match_indices('{') {
        if open < skip {
            continue;
        }
        let before = mask[..open].trim_end();
        let bare = before.strip_suffix(')').and_then(|rest| rest.trim_end().strip_suffix('('));
        let head = bare.unwrap_or(before).trim_end();
        let start = head.rfind(|letter| !is_name(letter)).map_or(0, |at| at + 1);
        let name = &head[start..];
        let keyword = head[..start].trim_end();
        let keyword = keyword.ends_with("function") && keyword.len() < start;
        let first = head[..start].rsplit('\n').next().unwrap_or_default().trim();
        let at_start = first.is_empty() || first.ends_with([';', '&', '|']) || first == "function";
        if name.is_empty() || !(bare.is_some() && at_start || keyword) {
            continue;
        }
        let mut depth = 0_usize;
        let close = mask[open..].char_indices().find_map(|(at, letter)| {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(open + at)
        });
        let Some(close) = close else { break };
        skip = close;
        let lines = lines.line_at(start)..=lines.line_at(close);
        found.push(ShellFunction { name: name.to_owned(), lines });
    }
    found
}

/// The script with its here-documents made empty lines, these, and the beginnings of those without an end.
fn without_documents(text: &str) -> (String, Vec<Document>, Vec<(usize, String)>) {
    let lines: Vec<&str> = text.lines().collect();
    let ends = [OnceCell::new(), OnceCell::new()];
    let (mut bare, mut documents, mut open) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        bare.push(*line);
        let by = at + 1;
        at += 1;
        let Some((word, tabs)) = end_word(line) else { continue };
        let ends = ends[usize::from(tabs)].get_or_init(|| by_text(&lines, tabs));
        let after = |ends: &Vec<usize>| ends.get(ends.partition_point(|end| *end < at)).copied();
        // Without an end it is no here-document, but a shift in arithmetic.
        let Some(length) = ends.get(word).and_then(after).map(|end| end - at) else {
            open.push((by, word.to_owned()));
            continue;
        };
        let body = lines[at..at + length].iter().enumerate();
        let body = body.map(|(index, line)| (at + index + 1, (*line).to_owned())).collect();
        documents.push(Document { by, lines: body, quoted: has_quoted_end(line) });
        bare.extend(std::iter::repeat_n("", length + 1));
        at += length + 1;
    }
    (bare.join("\n"), documents, open)
}

/// The lines by their text, without what an end of a here-document may have around it. Each beginning would
/// else search the rest of the script.
fn by_text<'t>(lines: &[&'t str], tabs: bool) -> HashMap<&'t str, Vec<usize>> {
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim_end();
        let line = if tabs { line.trim_start_matches('\t') } else { line };
        found.entry(line).or_default().push(index);
    }
    found
}

/// The word that ends the here-document that a line begins, and whether tabs before it are allowed.
fn end_word(line: &str) -> Option<(&str, bool)> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let (before, rest) = line.split_once("<<")?;
    if rest.starts_with('<') || before.ends_with('<') {
        return None;
    }
    let tabs = rest.starts_with('-');
    let rest = rest.trim_start_matches('-').trim_start().trim_start_matches(['"', '\'', '\\']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_+%".contains(c)).unwrap_or(rest.len());
    let number = rest.trim_start_matches('+').starts_with(|letter: char| letter.is_ascii_digit());
    (end > 0 && !number).then(|| (&rest[..end], tabs))
}

/// Whether the end word of the here-document that a line begins is quoted.
fn has_quoted_end(line: &str) -> bool {
    let rest = line.split_once("<<").map_or("", |(_, rest)| rest);
    rest.trim_start_matches('-').trim_start().starts_with(['"', '\'', '\\'])
}

/// Names behind `$` and `${`.
pub(crate) fn used(text: &str) -> BTreeSet<String> {
    let name = |rest: &str| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let rest = rest.trim_start_matches(['#', '!']);
        let end =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    text.match_indices('$')
        .map(|(offset, _)| name(&text[offset + 1..]))
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn documents_are_no_commands() {
        let text = "a\ncat > /etc/profile.d/x.sh <<'EOF'\nexport A=$B\nEOF\nc $((1 << 2)) ${D:-x}\n";
        let script = Script::read(catalog(), text);
        let texts: Vec<String> = script.commands.iter().map(|command| command.text()).collect();
        assert_eq!(texts[..2], ["a".to_owned(), "cat".to_owned()]);
        assert_eq!(script.commands[2].line, 5);
        assert_eq!(script.documents[0].lines, [(3, "export A=$B".to_owned())]);
        assert!(script.uses.contains("B") && script.uses.contains("D"));
    }

    #[test]
    fn functions_and_their_lines() {
        let text = "a() {\n  b ${C} '}'\n}\nfunction d\n{\n  e; }\nf () { g; }\nh && { i; }\nx=$(y) {z}\n";
        let found = functions(text).into_iter().map(|one| (one.name, one.lines)).collect::<Vec<_>>();
        assert_eq!(found, [("a".into(), 1..=3), ("d".into(), 4..=6), ("f".into(), 7..=7)]);
    }

    /// Each beginning searched the rest of the script for its end.
    #[test]
    fn many_documents_without_an_end() {
        let text: String = (0..20_000).map(|at| format!("a <<X{at}\n")).collect();
        let script = Script::read(catalog(), &(text + "b <<-'E'\n\t1\n\tE\n"));
        assert_eq!((script.documents.len(), script.documents[0].by), (1, 20_001));
        assert_eq!(script.documents[0].lines, [(20_002, "\t1".to_owned())]);
    }
}
