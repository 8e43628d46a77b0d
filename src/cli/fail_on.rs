//! `--fail-on`: which findings make the exit code 1.

use clap::ValueEnum;

use diagnostic::report::Summary;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Errors only.
    Error,
    /// Errors and warnings.
    Warning,
    /// Always exit with 0 if the checks could run.
    Never,
}

impl FailOn {
    /// 1 for such a finding; with `strict` 3 for unknown results without one; else 0.
    pub(super) fn exit_code(self, summary: &Summary, strict: bool) -> u8 {
        let findings = match self {
            FailOn::Error => summary.error,
            FailOn::Warning => summary.error + summary.warning,
            FailOn::Never => 0,
        };
        match findings {
            0 if strict && summary.unknown > 0 => 3,
            0 => 0,
            _ => 1,
        }
    }
}
