//! GitHub Actions annotations: one line a finding or unknown.

use std::fmt::Write;

use crate::checks::{CheckResult, Severity, Verdict};

/// Workflow commands, `::error title=ID::TEXT`.
pub fn report(results: &[CheckResult]) -> String {
    let mut text = String::new();
    for result in results {
        let (level, says, commands) = match &result.verdict {
            Verdict::Finding { severity: Severity::Error, says, fix, .. } => {
                ("error", says, fix.commands.as_slice())
            }
            Verdict::Finding { severity: Severity::Warning, says, fix, .. } => {
                ("warning", says, fix.commands.as_slice())
            }
            Verdict::Unknown(why) => ("notice", why, [].as_slice()),
            Verdict::Pass | Verdict::NotApplicable(_) => continue,
        };
        let unknown = if level == "notice" { "could not look: " } else { "" };
        let body =
            std::iter::once(format!("{unknown}{says}")).chain(commands.iter().map(|c| format!("  {c}")));
        let body = escape(&body.collect::<Vec<_>>().join("\n"));
        let _ = writeln!(text, "::{level} title={}::{body}", result.check.id);
    }
    text
}

/// The characters that end or split a workflow command.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
