//! Writing: one file a format, and the two ways out ([`screen`] and [`file`]).

pub mod build;
pub mod catalog;
pub mod cluster;
pub mod diagnose;
pub mod explain;
pub mod file;
pub mod github;
pub mod inspect;
pub mod json;
pub mod junit;
pub mod lint;
pub mod machine;
pub mod markdown;
pub mod matrix;
pub mod resolve;
pub mod screen;
pub mod signature;
pub mod smoke;
pub mod text;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use crate::checks::{CheckResult, Group, Severity, Verdict};

/// The status words of JSON and of the text report.
pub fn status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::NotApplicable(_) => "not-applicable",
        Verdict::Unknown(_) => "unknown",
        Verdict::Finding { severity: Severity::Warning, .. } => "warning",
        Verdict::Finding { severity: Severity::Error, .. } => "error",
    }
}

/// How many results have each status.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Summary {
    /// Looked, and it is well.
    pub pass: usize,
    /// Findings at warning level.
    pub warning: usize,
    /// Findings at error level.
    pub error: usize,
    /// Could not look.
    pub unknown: usize,
    /// Means nothing on this machine.
    pub not_applicable: usize,
}

impl Summary {
    /// Counts.
    pub fn of<'r>(results: impl IntoIterator<Item = &'r CheckResult>) -> Summary {
        Summary::of_verdicts(results.into_iter().map(|result| &result.verdict))
    }

    /// Counts verdicts.
    pub fn of_verdicts<'r>(verdicts: impl IntoIterator<Item = &'r Verdict>) -> Summary {
        let mut summary = Summary::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Pass => summary.pass += 1,
                Verdict::NotApplicable(_) => summary.not_applicable += 1,
                Verdict::Unknown(_) => summary.unknown += 1,
                Verdict::Finding { severity: Severity::Warning, .. } => summary.warning += 1,
                Verdict::Finding { severity: Severity::Error, .. } => summary.error += 1,
            }
        }
        summary
    }

    /// `1 error, 2 warnings, 3 unknown, 54 passed`: what is zero is left out.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        let mut add = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => words.push(format!("1 {one}")),
            _ => words.push(format!("{count} {many}")),
        };
        add(self.error, "error", "errors");
        add(self.warning, "warning", "warnings");
        add(self.unknown, "unknown", "unknown");
        add(self.pass, "passed", "passed");
        words.join(", ")
    }
}

/// Bytes for people, with so many digits, in units of 1000 as Docker writes sizes.
#[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
pub fn size(bytes: u64, digits: i32) -> String {
    const UNITS: &[&str] = &["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        return format!("{bytes} B");
    }
    // As many decimals as fit, after rounding.
    let fits = |decimals: &i32| value < 10_f64.powi(digits - decimals) - 0.5 * 10_f64.powi(-decimals);
    let decimals = (1..digits).rev().find(fits).unwrap_or(0);
    format!("{value:.*} {}", usize::try_from(decimals).unwrap_or(0), UNITS[unit])
}

/// Results of one group, in order.
pub fn of_group(results: &[CheckResult], group: Group) -> Vec<&CheckResult> {
    results.iter().filter(|result| result.check.group == group).collect()
}

/// "permission denied" with the way out, other reasons as they are.
pub fn reason(why: &str, root: bool) -> String {
    match why.contains(crate::host::DENIED) {
        true if !root => format!("{why} (run with sudo to see it)"),
        _ => why.to_owned(),
    }
}
