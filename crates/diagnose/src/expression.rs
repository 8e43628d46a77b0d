//! Constant regular expressions of logs: classes mean ASCII, as in those of signatures.

use catalog::expression::{AUTOMATON, ascii_classes};
use regex::{Regex, RegexBuilder};

/// A constant expression, over characters.
///
/// # Panics
/// When it is wrong: tests compile each.
#[expect(clippy::unwrap_used, reason = "the expressions are constants, compiled in tests")]
pub fn constant(text: &str) -> Regex {
    RegexBuilder::new(&ascii_classes(text)).dfa_size_limit(AUTOMATON).build().unwrap()
}

#[cfg(test)]
mod tests {
    use super::constant;
    use catalog::expression::Expression;

    #[test]
    fn ascii_expressions_match_like_the_originals() {
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
            assert_eq!(Expression::compiled(text).unwrap().is_match(line), wanted, "{text} {line}");
            assert_eq!(constant(text).is_match(line), wanted, "{text} {line}");
        }
    }
}
