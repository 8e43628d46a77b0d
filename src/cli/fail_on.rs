//! `--fail-on`: which findings make the exit code 1.

use ::config::Settings;
use clap::ValueEnum;

use diagnostic::report::Summary;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Errors only.
    Error,
    /// Errors and warnings.
    Warning,
    /// Errors, warnings and notes.
    Note,
    /// Always exit with 0 if the command could run.
    Never,
}

impl FailOn {
    /// What an option says, else the settings, else errors only.
    pub(super) fn of(option: Option<FailOn>, settings: &Settings) -> FailOn {
        option.unwrap_or_else(|| match settings.fail_on.as_ref().map(|setting| setting.value) {
            None | Some(::config::FailOn::Error) => FailOn::Error,
            Some(::config::FailOn::Warning) => FailOn::Warning,
            Some(::config::FailOn::Note) => FailOn::Note,
            Some(::config::FailOn::Never) => FailOn::Never,
        })
    }

    /// Whether some of so many findings are such.
    pub(super) fn any(self, errors: usize, warnings: usize, notes: usize) -> bool {
        let findings = match self {
            FailOn::Error => errors,
            FailOn::Warning => errors + warnings,
            FailOn::Note => errors + warnings + notes,
            FailOn::Never => 0,
        };
        findings > 0
    }

    /// 1 for such a finding; with `strict` 3 for unknown results without one; else 0.
    pub(super) fn exit_code(self, summary: &Summary, strict: bool) -> u8 {
        match self.any(summary.error, summary.warning, summary.note) {
            true => 1,
            false if strict && summary.unknown > 0 => 3,
            false => 0,
        }
    }
}
