//! What makes the exit code of a check 1.

use clap::ValueEnum;

use diagnostic::report::Summary;

/// The least severe finding that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Errors only.
    Error,
    /// Errors and warnings.
    Warning,
    /// Always exit with 0 when the check could be made.
    Never,
}

impl FailOn {
    /// 1 where such a finding is there, 3 where there is none, something is unknown and `strict` asks for that, else 0.
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
