//! Regular expressions of logs: classes mean ASCII. The words that programs fail with are ASCII, and an expression without Unicode's tables is
//! compiled and matched several times faster; text in other scripts matches what is negated and the point.

use regex::{Regex, RegexBuilder, bytes};

/// What an expression may keep of the automaton that it builds while it matches, in bytes. There are hundreds of expressions, and memory is
/// bounded.
const AUTOMATON: usize = 1 << 16;

/// An expression of a signature, over bytes: `\d`, `\w`, `\s`, their negations and `\b` mean ASCII, and what is negated and the point are one byte,
/// which makes its automaton several times smaller; one that has other letters in it keeps to whole characters.
///
/// # Errors
/// When the expression is wrong.
pub fn compiled(text: &str) -> Result<bytes::Regex, regex::Error> {
    let written = ascii(text);
    let build =
        |unicode| bytes::RegexBuilder::new(&written).unicode(unicode).dfa_size_limit(AUTOMATON).build();
    build(false).or_else(|_| build(true))
}

/// A constant expression, over characters.
///
/// # Panics
/// When it is wrong: tests compile each.
#[expect(clippy::unwrap_used, reason = "the expressions are constants, compiled in tests")]
pub fn constant(text: &str) -> Regex {
    RegexBuilder::new(&ascii(text)).dfa_size_limit(AUTOMATON).build().unwrap()
}

/// The expression with its classes written out. Written out they may stand inside of other classes too; a space is written by its number,
/// since a verbose expression leaves spaces out.
fn ascii(text: &str) -> String {
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
    use super::{ascii, compiled, constant};

    #[test]
    fn classes_are_written_out() {
        let cases = [
            (r"a\d{2}\\d\.", r"a[0-9]{2}\\d\."),
            (r"[\w.-]+\b", r"[[0-9A-Za-z_].-]+(?-u:\b)"),
            (r"\s\S", r"[\t\n\v\f\r\x20][^\t\n\v\f\r\x20]"),
            ("", ""),
            ("\\", "\\"),
        ];
        for (text, wanted) in cases {
            assert_eq!(ascii(text), wanted);
        }
    }

    #[test]
    fn they_match_as_before() {
        let cases = [
            (r"(?x) ^ \s* [\w./-]+ \s \d+ $", "  a/b-c.d 12", true),
            (r"(?x) ^ \s* [\w./-]+ \s \d+ $", "  a/b-c.d12", false),
            (r"\bKilled\b", "进程Killed。", true),
            (r"\bKilled\b", "unKilled", false),
            (r"^[^\s:]+: \S+$", "节点: 失败", true),
            (r"(?i)\bxid\b", "NVRM: Xid (", true),
            (r"错误: \w+", "错误: Connection refused", true),
        ];
        for (text, line, wanted) in cases {
            assert_eq!(compiled(text).unwrap().is_match(line.as_bytes()), wanted, "{text} {line}");
            assert_eq!(constant(text).is_match(line), wanted, "{text} {line}");
        }
        assert!(compiled("(").is_err());
    }
}
