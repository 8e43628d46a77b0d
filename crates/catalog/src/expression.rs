//! Regular expressions of logs: classes mean ASCII. The words that programs fail with are ASCII, and an
//! expression without Unicode's tables is compiled and matched several times faster; text in other scripts
//! matches what is negated and the point.

use regex_automata::meta::{self, BuildError};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;

/// What an expression may keep of the automaton that it builds while it matches, in bytes, and at least for
/// each of its own bytes. There are hundreds of expressions, and memory is bounded; one that is given too
/// little is matched ten times as slowly.
pub const AUTOMATON: usize = 1 << 16;
const FOR_EACH: usize = 1 << 7;

/// An expression of a signature, over bytes. What matches is inlined into `diagnose`, which is
/// compiled for speed.
///
/// What the regex crate builds next to the automaton to be fast on long texts is left out: lines are short, a
/// literal of the expression has been found in each already, and there are hundreds of expressions to keep in
/// memory (`docs/measurements/diagnose.md`).
#[derive(Debug, Clone)]
pub struct Expression(meta::Regex);

impl Expression {
    /// Compiles it: `\d`, `\w`, `\s`, their negations and `\b` mean ASCII, and what is negated and the point
    /// are one byte, which makes its automaton several times smaller; one that has other letters in it keeps
    /// to whole characters.
    ///
    /// # Errors
    /// When the expression is wrong.
    pub fn compiled(text: &str) -> Result<Expression, Box<BuildError>> {
        let written = ascii_classes(text);
        let config = meta::Config::new()
            .utf8_empty(false)
            .auto_prefilter(false)
            .onepass(false)
            .hybrid_cache_capacity(AUTOMATON.max(text.len() * FOR_EACH));
        let build = |unicode| {
            let syntax = syntax::Config::new().unicode(unicode).utf8(false);
            meta::Regex::builder().configure(config.clone()).syntax(syntax).build(&written).map_err(Box::new)
        };
        build(false).or_else(|_| build(true)).map(Expression)
    }

    #[inline]
    pub fn is_match(&self, line: &str) -> bool {
        self.0.is_match(line)
    }

    /// Where in a line it matches first.
    #[inline]
    pub fn start(&self, line: &str) -> Option<usize> {
        Some(self.0.find(line)?.start())
    }

    /// The names of its groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.group_info().all_names().filter_map(|(_, _, name)| name)
    }

    /// What its groups match in a line.
    #[inline]
    pub fn captures(&self, line: &str) -> Option<Captures> {
        let mut captures = self.0.create_captures();
        self.0.captures(line, &mut captures);
        captures.is_match().then_some(captures)
    }
}

/// The expression with its classes written out. Written out they may be inside other classes too; a
/// space is written by its number, since a verbose expression leaves spaces out.
pub fn ascii_classes(text: &str) -> String {
    let mut written = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        written.push_str(&rest[..at]);
        let Some(escaped) = rest[at + 1..].chars().next() else { break };
        match escaped {
            'd' => written.push_str("[0-9]"),
            'D' => written.push_str("[^0-9]"),
            'w' => written.push_str("[0-9A-Za-z_]"),
            'W' => written.push_str("[^0-9A-Za-z_]"),
            's' => written.push_str(r"[\t\n\v\f\r\x20]"),
            'S' => written.push_str(r"[^\t\n\v\f\r\x20]"),
            'b' => written.push_str(r"(?-u:\b)"),
            other => written.extend(['\\', other]),
        }
        rest = &rest[at + 1 + escaped.len_utf8()..];
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::{Expression, ascii_classes};

    #[test]
    fn expands_character_classes_to_ascii() {
        let cases = [
            (r"a\d{2}\\d\.", r"a[0-9]{2}\\d\."),
            (r"[\w.-]+\b", r"[[0-9A-Za-z_].-]+(?-u:\b)"),
            (r"\s\S", r"[\t\n\v\f\r\x20][^\t\n\v\f\r\x20]"),
            ("", ""),
            ("\\", "\\"),
        ];
        for (text, expected) in cases {
            assert_eq!(ascii_classes(text), expected);
        }
        assert!(Expression::compiled("(").is_err());
    }
}
