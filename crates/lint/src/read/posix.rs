//! What bash takes and dash, the `/bin/sh` of Debian and Ubuntu, does not.

use super::dockerfile::text::Text;

/// One use of a feature of bash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BashOnly {
    pub line: usize,
    /// As people write it: "`source`".
    pub what: String,
    /// How dash answers.
    pub effect: &'static str,
    /// Whether the command fails; else it does something else.
    pub fails: bool,
    /// Whether dash of Debian 13 and Ubuntu 25.04 (0.5.12-7) and newer has it.
    pub in_new_dash: bool,
}

/// A script with what is in quotes and comments blanked out, byte by byte: `_` and spaces.
pub(crate) fn masked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let (mut at, mut quote) = (0, 0u8);
    while let Some(&byte) = bytes.get(at) {
        let blank = |byte: u8| if byte == b'\n' { b'\n' } else { b'_' };
        match (quote, byte) {
            (b'\'', b'\'') | (b'"', b'"') => {
                quote = 0;
                out.push(b'_');
            }
            (b'"' | 0, b'\\') if at + 1 < bytes.len() => {
                // A line that goes on is one line.
                let pair = if bytes[at + 1] == b'\n' { [b' ', b' '] } else { [b'_', b'_'] };
                out.extend(pair);
                at += 1;
            }
            (0, b'\'' | b'"') => {
                quote = byte;
                out.push(b'_');
            }
            (0, b'#') if out.last().is_none_or(|last| last.is_ascii_whitespace() || *last == b';') => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    out.push(b' ');
                    at += 1;
                }
                continue;
            }
            (0, byte) => out.push(if byte.is_ascii() { byte } else { b'_' }),
            (_, byte) => out.push(blank(byte)),
        }
        at += 1;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Commands that dash does not have.
const COMMANDS: &[&str] = &[
    "source",
    "[[",
    "shopt",
    "declare",
    "typeset",
    "pushd",
    "popd",
    "let",
    "mapfile",
    "readarray",
    "function",
];

/// Words before a command.
const BEFORE: &[&str] = &["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"];

/// The uses of features of bash in a script, in order.
pub(crate) fn bash_only(script: &Text) -> Vec<BashOnly> {
    let mask = masked(&script.text);
    let mut found = of_words(&mask);
    for (text, what, effect, fails) in [
        ("<<<", "`<<<`", "Syntax error: redirection unexpected", true),
        ("<(", "`<(…)`", "Syntax error: \"(\" unexpected", true),
        (">(", "`>(…)`", "Syntax error: \"(\" unexpected", true),
        ("&>", "`&>`", "the command runs in the background", false),
        ("|&", "`|&`", "Syntax error: \"&\" unexpected", true),
    ] {
        let uses = mask.match_indices(text);
        found.extend(uses.map(|(at, _)| Use { fails, ..Use::new(at, what.to_owned(), effect) }));
    }
    for (offset, _) in mask.match_indices("=(") {
        let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'+';
        if mask[..offset].bytes().next_back().is_some_and(name) {
            found.push(Use::new(offset, "an array".to_owned(), "Syntax error: \"(\" unexpected"));
        }
    }
    let expansions = expansions(&script.text).into_iter();
    found.extend(expansions.map(|(offset, what)| Use::new(offset, format!("`{what}`"), "Bad substitution")));
    found.sort_by_key(|one| one.offset);
    let used = |Use { offset, what, effect, fails, in_new_dash }: Use| {
        let line = script.line_at(offset);
        BashOnly { line, what, effect, fails, in_new_dash }
    };
    found.into_iter().map(used).collect()
}

/// A place in a script, and what is [`BashOnly`] there.
struct Use {
    offset: usize,
    what: String,
    effect: &'static str,
    fails: bool,
    in_new_dash: bool,
}

impl Use {
    /// One that fails in every dash.
    fn new(offset: usize, what: String, effect: &'static str) -> Use {
        Use { offset, what, effect, fails: true, in_new_dash: false }
    }
}

/// The commands and arguments that only bash has.
fn of_words(mask: &str) -> Vec<Use> {
    let mut found: Vec<Use> = Vec::new();
    let (mut start, mut program) = (true, "");
    for (offset, word) in words(mask) {
        if matches!(word, ";" | "&" | "|" | "(" | ")" | "\n") {
            start = true;
            continue;
        }
        if start && BEFORE.contains(&word) {
            continue;
        }
        if start && COMMANDS.contains(&word) {
            found.push(Use::new(offset, format!("`{word}`"), "not found"));
        }
        if start {
            program = word;
        }
        if matches!(program, "[" | "test") && word == "==" {
            found.push(Use::new(offset, "`==` in `[ ]`".to_owned(), "unexpected operator"));
        }
        if program == "set" && word == "pipefail" {
            let one = Use::new(offset, "`set -o pipefail`".to_owned(), "Illegal option -o pipefail");
            found.push(Use { in_new_dash: true, ..one });
        }
        if is_range(word) {
            let one = Use::new(offset, format!("`{word}`"), "it stays as it is written");
            found.push(Use { fails: false, ..one });
        }
        start = false;
    }
    found
}

/// Words and separators with their places.
fn words(mask: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut begin, bytes) = (None, mask.as_bytes());
    for at in 0..=bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b' ');
        let separator = matches!(byte, b';' | b'&' | b'|' | b'(' | b')' | b'\n');
        // `2>&1`, `&>`: no separators.
        let redirects =
            byte == b'&' && (bytes.get(at + 1) == Some(&b'>') || (at > 0 && bytes[at - 1] == b'>'));
        if byte.is_ascii_whitespace() || separator || at == bytes.len() {
            if let Some(from) = begin.take() {
                found.push((from, &mask[from..at]));
            }
            if separator && !redirects {
                found.push((at, &mask[at..=at]));
            }
        } else if begin.is_none() {
            begin = Some(at);
        }
    }
    found
}

/// `{1..8}`, `{a,b}`.
fn is_range(word: &str) -> bool {
    let groups = word.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(group, _)| group);
    let plain = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut ranges = groups.map(|group| match group.split_once("..") {
        Some((from, to)) => plain(from) && plain(to),
        None => group.contains(',') && !group.contains([':', '=', '_']),
    });
    !word.contains('$') && ranges.any(|range| range)
}

/// A longer expansion is taken for one that has no end.
const EXPANSION_LIMIT_BYTES: usize = 1000;

/// `${A[0]}`, `${A//x/y}`, `${A:0:3}`, `${A^^}`, `${!A}`: outside of single quotes.
fn expansions(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut single, mut double) = (Vec::new(), false, false);
    let bytes = text.as_bytes();
    let (mut at, mut close) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !single => at += 1,
            b'\'' if !double => single = !single,
            b'"' if !single => double = !double,
            b'$' if !single && bytes.get(at + 1) == Some(&b'{') => {
                // The end of an earlier one may be that of this one, too: nothing is searched twice.
                if close < at + 2 {
                    close = text[at + 2..].find('}').map_or(text.len(), |end| at + 2 + end);
                }
                let ends = close < text.len() && close - at < EXPANSION_LIMIT_BYTES;
                let inner = if ends { &text[at + 2..close] } else { "" };
                let name = inner.trim_start_matches('#');
                let end = name
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(name.len());
                let rest = &name[end..];
                let slice = rest.strip_prefix(':').is_some_and(|rest| {
                    rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == ' ')
                });
                let bash = end > 0 && (slice || rest.starts_with(['[', '/', '^', ',']));
                if bash || (inner.starts_with('!') && inner.len() > 1) {
                    found.push((at, format!("${{{inner}}}")));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<(usize, String)> {
        bash_only(&Text::lines(text, 1)).into_iter().next().map(|one| (one.line, one.what))
    }

    #[test]
    fn what_dash_does_not_take() {
        for (text, line, what) in [
            ("a && source /x", 1, "`source`"),
            ("if [[ -f x ]]; then a; fi", 1, "`[[`"),
            ("a\nset -euo pipefail", 2, "`set -o pipefail`"),
            ("A=(1\n 2)", 1, "an array"),
            ("echo \"${A[@]}\"", 1, "`${A[@]}`"),
            ("[ $a == b ]", 1, "`==` in `[ ]`"),
            ("cat <<< x", 1, "`<<<`"),
            ("diff <(a) b", 1, "`<(…)`"),
            ("for x in {1..8}; do a; done", 1, "`{1..8}`"),
            ("echo ${A:0:2}", 1, "`${A:0:2}`"),
        ] {
            assert_eq!(first(text), Some((line, what.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_it_takes() {
        for text in [
            "set -eux; . /x; [ a = b ] && c > d 2>&1",
            "echo 'source [[ A=(1) ${A[0]}' # source x",
            "awk '{print $1}' f; bash -c \"source /x && [[ a ]]\"",
            "a=${X:-1} b=${Y%.*} c=$((1 << 2)) d=$(e) f=${Z:+x}",
            "pip install 'a[b]' --config source",
            "é 'ü' \"${",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
