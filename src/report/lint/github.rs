//! GitHub Actions annotations: one line a finding, at its place in the file.

use std::fmt::Write;

use crate::lint::{Finding, Severity};

/// Workflow commands, `::error file=F,line=L,title=RULE::TEXT`.
pub fn report(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let level = match finding.found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let found = &finding.found;
        let body = match found.fix.is_empty() {
            true => found.says.clone(),
            false => format!("{}\nfix: {}", found.says, found.fix),
        };
        let file = property(&finding.file);
        let _ = writeln!(
            text,
            "::{level} file={file},line={},title={}::{}",
            found.line,
            finding.rule.id,
            escape(&body)
        );
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}
