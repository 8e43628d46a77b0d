//! The instructions of a Dockerfile: parser directives, continuation lines, comments between them,
//! here-documents, JSON form.
//!
//! As BuildKit reads them (moby/buildkit:frontend/dockerfile/parser). Nothing is dropped, and nothing is an
//! error here: an instruction that does not exist is kept under the name that it has.

use std::collections::HashMap;

use super::text::Text;

/// Every instruction of Dockerfiles.
pub(crate) const INSTRUCTIONS: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Its first line, from 1.
    pub line: usize,
    /// Its last line, here-documents included.
    pub last: usize,
    /// `RUN`, in capitals.
    pub keyword: String,
    /// `--from=builder`, `--mount=type=cache,target=/root/.cache`, as written.
    pub flags: Vec<String>,
    /// What follows keyword and flags.
    pub text: Text,
    /// The words of the JSON form (`["a", "b"]`); `None` for the shell form.
    pub json: Option<Vec<String>>,
    /// Its here-documents, in order.
    pub heredocs: Vec<Heredoc>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heredoc {
    /// The word that ends it: `EOF`.
    pub name: String,
    /// False where the word was quoted: nothing in it is substituted.
    pub expands: bool,
    /// False where its end has blanks before it that BuildKit does not remove: it then finds no end.
    pub closed: bool,
    pub text: Text,
}

impl Instruction {
    /// Its words in JSON form or, with their quotes, in shell form.
    pub(crate) fn words(&self) -> Vec<&str> {
        match &self.json {
            Some(words) => words.iter().map(String::as_str).collect(),
            None => self.text.text.split_whitespace().collect(),
        }
    }

    /// The value of a flag: `builder` of `--from=builder`.
    pub(crate) fn flag(&self, name: &str) -> Option<&str> {
        let value = |flag: &'_ String| {
            flag.strip_prefix("--").and_then(|flag| flag.strip_prefix(name)).map(|rest| rest.len())
        };
        let (flag, rest) = self.flags.iter().find_map(|flag| Some((flag, value(flag)?)))?;
        flag[flag.len() - rest..].strip_prefix('=')
    }
}

/// A Dockerfile as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub instructions: Vec<Instruction>,
    /// The escape character: `\`, or a backtick where the directive says so.
    pub escape: char,
    /// Comments: line and text after the `#`.
    pub comments: Vec<(usize, String)>,
}

/// Where here-documents may end: the numbers of the lines with a text, from 0 and in order, for lines as they
/// are and without the tabs before them.
#[derive(Debug, Default)]
struct Ends<'t> {
    whole: HashMap<&'t str, Vec<usize>>,
    stripped: HashMap<&'t str, Vec<usize>>,
    /// Without any blanks around them.
    trimmed: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Ends<'t> {
    /// Empty for a text that begins none.
    fn of(text: &str, lines: &[&'t str]) -> Ends<'t> {
        let mut ends = Ends::default();
        if text.contains("<<") {
            for (number, line) in lines.iter().enumerate() {
                ends.whole.entry(line).or_default().push(number);
                ends.stripped.entry(line.trim_start_matches('\t')).or_default().push(number);
                ends.trimmed.entry(line.trim()).or_default().push(number);
            }
        }
        ends
    }

    /// The first line from `at` on that is this word.
    fn next(&self, word: &str, strips: bool, at: usize) -> Option<usize> {
        let lines = if strips { &self.stripped } else { &self.whole }.get(word)?;
        lines.get(lines.partition_point(|line| *line < at)).copied()
    }

    /// The first line from `at` on that is this word but for blanks around it.
    fn misplaced(&self, word: &str, at: usize) -> Option<usize> {
        let is_name = word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let lines = self.trimmed.get(word).filter(|_| is_name)?;
        lines.get(lines.partition_point(|line| *line < at)).copied()
    }
}

pub(crate) fn parse(text: &str) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let ends = Ends::of(text, &lines);
    let mut parsed = Parsed { instructions: Vec::new(), escape: escape(&lines), comments: Vec::new() };
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        if line.is_empty() {
            at += 1;
        } else if let Some(comment) = line.strip_prefix('#') {
            parsed.comments.push((at + 1, comment.to_owned()));
            at += 1;
        } else {
            at = instruction(&lines, at, &ends, &mut parsed);
        }
    }
    parsed
}

/// The directive `# escape=`, which only counts above everything else.
fn escape(lines: &[&str]) -> char {
    for line in lines {
        let Some((name, value)) = line.trim().strip_prefix('#').and_then(|rest| rest.split_once('=')) else {
            break;
        };
        if name.trim().contains(char::is_whitespace) {
            break;
        }
        if name.trim().eq_ignore_ascii_case("escape") && value.trim() == "`" {
            return '`';
        }
    }
    '\\'
}

/// Reads one instruction that begins at a line; gives back the line after it.
fn instruction(lines: &[&str], first: usize, ends: &Ends<'_>, parsed: &mut Parsed) -> usize {
    let mut text = Text::default();
    let mut at = first;
    while at < lines.len() {
        let line = lines[at];
        if at > first && line.trim().is_empty() {
            at += 1;
            continue;
        }
        if at > first && line.trim_start().starts_with('#') {
            parsed.comments.push((at + 1, line.trim_start()[1..].to_owned()));
            at += 1;
            continue;
        }
        let (kept, goes_on) = continued(line, parsed.escape);
        text.push(at + 1, if at == first { kept.trim_start() } else { kept });
        at += 1;
        if !goes_on {
            break;
        }
    }
    let heredocs = heredocs(&text.text, lines, &mut at, ends);
    parsed.instructions.push(built(first + 1, at, &text, heredocs));
    at
}

/// The line without the escape at its end, and whether there was one.
fn continued(line: &str, escape: char) -> (&str, bool) {
    let trimmed = line.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix(escape) {
        Some(kept) if !kept.ends_with(escape) => (kept, true),
        _ => (line, false),
    }
}

fn built(line: usize, last: usize, text: &Text, heredocs: Vec<Heredoc>) -> Instruction {
    let end = text.text.find(char::is_whitespace).unwrap_or(text.text.len());
    let keyword = text.text[..end].to_ascii_uppercase();
    let mut at = skip_space(&text.text, end);
    let mut flags = Vec::new();
    if matches!(keyword.as_str(), "FROM" | "RUN" | "COPY" | "ADD" | "HEALTHCHECK") {
        while text.text[at..].starts_with("--") {
            let rest = &text.text[at..];
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            flags.push(rest[..length].to_owned());
            at = skip_space(&text.text, at + length);
        }
    }
    let text = text.after(at);
    let json =
        text.text.trim().starts_with('[').then(|| serde_json::from_str(text.text.trim()).ok()).flatten();
    Instruction { line, last, keyword, flags, text, json, heredocs }
}

fn skip_space(text: &str, from: usize) -> usize {
    text[from..].find(|letter: char| !letter.is_whitespace()).map_or(text.len(), |offset| from + offset)
}

/// Reads the here-documents that an instruction begins; `at` moves behind them.
fn heredocs(text: &str, lines: &[&str], at: &mut usize, ends: &Ends<'_>) -> Vec<Heredoc> {
    let keyword = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    if !matches!(keyword.as_str(), "RUN" | "COPY" | "ADD" | "ONBUILD") || !text.contains("<<") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, expands, strips) in begun(text) {
        let first = *at;
        let mut body = String::new();
        let bare = |line: &'_ &str| {
            line.len() - if strips { line.trim_start_matches('\t').len() } else { line.len() }
        };
        // Never ended: then it was none (a shift, or text in quotes).
        let proper = ends.next(&name, strips, first);
        let Some(end) = proper.or_else(|| ends.misplaced(&name, first)) else { continue };
        for line in &lines[first..end] {
            body.push_str(&line[bare(line)..]);
            body.push('\n');
        }
        *at = end + 1;
        found.push(Heredoc { name, expands, closed: proper.is_some(), text: Text::lines(&body, first + 1) });
    }
    found
}

/// The here-documents that begin in a text: end word, whether they substitute, whether leading tabs go.
pub(super) fn begun(text: &str) -> Vec<(String, bool, bool)> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let (mut at, mut quote) = (0, None);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(b'"') | None, b'\\') => at += 1,
            (Some(_), _) => {}
            (None, letter @ (b'"' | b'\'')) => quote = Some(letter),
            (None, b'<') if text[at..].starts_with("<<<") => at += 2,
            (None, b'<') if text[at..].starts_with("<<") => {
                if let Some((heredoc, length)) = word(&text[at + 2..]) {
                    found.push(heredoc);
                    at += 1 + length;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The end word after `<<`, with its length: `-EOF`, `'EOF'`, `"EOF"`.
fn word(rest: &str) -> Option<((String, bool, bool), usize)> {
    let (strips, body) = match rest.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, rest),
    };
    // BuildKit takes spaces here since 0.22.
    let skipped = body.len() - body.trim_start_matches([' ', '\t']).len();
    let body = &body[skipped..];
    let quote = body.chars().next().filter(|letter| matches!(letter, '"' | '\''));
    let (name, length) = match quote {
        Some(quote) => {
            let end = body[1..].find(quote)?;
            (&body[1..=end], end + 2)
        }
        None => {
            let end = body
                .find(|letter: char| letter.is_whitespace() || ";|&<>()\"'".contains(letter))
                .unwrap_or(body.len());
            (&body[..end], end)
        }
    };
    let length = length + skipped + usize::from(strips);
    (!name.is_empty()).then(|| ((name.to_owned(), quote.is_none(), strips), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keywords(text: &str) -> Vec<(String, usize, String)> {
        let parsed = parse(text);
        parsed.instructions.into_iter().map(|one| (one.keyword, one.line, one.text.text)).collect()
    }

    fn one(keyword: &str, line: usize, text: &str) -> (String, usize, String) {
        (keyword.into(), line, text.into())
    }

    #[test]
    fn lines_go_on_and_comments_between_them_do_not_end_them() {
        let text = "# a comment\nfrom a\n\nRUN one && \\\n  # why\n\n  two \\\n\n  three\nCMD x\n";
        assert_eq!(
            keywords(text),
            [one("FROM", 2, "a"), one("RUN", 4, "one &&   two   three"), one("CMD", 10, "x")]
        );
        let parsed = parse(text);
        assert_eq!(parsed.comments, [(1, " a comment".to_owned()), (5, " why".to_owned())]);
        let run = &parsed.instructions[1].text;
        assert_eq!(run.line_at(run.text.find("three").unwrap()), 9);
        assert_eq!(run.line_at(run.text.find("two").unwrap()), 7);
        assert_eq!(run.line_at(0), 4);
    }

    #[test]
    fn the_escape_directive() {
        let parsed = parse("# escape=`\nFROM a\nRUN dir c:\\ `\n more\n");
        assert_eq!(parsed.escape, '`');
        assert_eq!(parsed.instructions[1].text.text, "dir c:\\  more");
        // Not above everything else: a comment.
        assert_eq!(parse("FROM a\n# escape=`\n").escape, '\\');
        assert_eq!(parse("# syntax=docker/dockerfile:1\n# escape=`\nFROM a\n").escape, '`');
    }

    #[test]
    fn two_backslashes_go_on_as_little_as_none() {
        assert_eq!(keywords("RUN echo \\\\\nUSER x\n").len(), 2);
    }

    #[test]
    fn here_documents() {
        let text = "RUN <<EOF\napt-get update\n# kept\nEOF\nCOPY <<-\"A\" <<B /x/\n\tfirst $X\n\tA\nsecond\n\
            B\nCMD y\n";
        let parsed = parse(text);
        let [run, copy, cmd] = &parsed.instructions[..] else { panic!("{parsed:?}") };
        assert_eq!(run.heredocs[0].text.text, "apt-get update\n# kept\n");
        assert_eq!(run.heredocs[0].text.line_at(16), 3);
        assert_eq!((run.line, run.last), (1, 4));
        assert!(run.heredocs[0].expands && !copy.heredocs[0].expands && copy.heredocs[1].expands);
        assert_eq!(copy.heredocs[0].text.text, "first $X\n");
        assert_eq!(copy.heredocs[1].text.text, "second\n");
        assert_eq!(parse("RUN cat << 'X' > /f\necho a\nX\nCMD y\n").instructions.len(), 2);
        assert_eq!((cmd.keyword.as_str(), cmd.line), ("CMD", 10));
    }

    #[test]
    fn what_looks_like_a_here_document_and_is_none() {
        for text in ["RUN echo $((1<<2))\nCMD x\n", "RUN echo '<<EOF'\nCMD x\n", "RUN cat <<<EOF\nCMD x\n"] {
            assert_eq!(keywords(text).len(), 2, "{text}");
        }
    }

    #[test]
    fn flags_and_the_json_form() {
        let parsed = parse(
            "COPY --from=build --chown=a:b /x /y\nCMD [\"a\", \"b c\"]\nRUN [a]\n\
             RUN --mount=type=cache,target=/c pip\n",
        );
        let [copy, cmd, run, mount] = &parsed.instructions[..] else { panic!("{parsed:?}") };
        assert_eq!(
            (copy.flag("from"), copy.flag("chown"), copy.flag("chmod")),
            (Some("build"), Some("a:b"), None)
        );
        assert_eq!(cmd.json.as_deref(), Some(&["a".to_owned(), "b c".to_owned()][..]));
        assert_eq!(run.json, None);
        assert_eq!(mount.text.text, "pip");
    }
}
