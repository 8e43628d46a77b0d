//! `--fail-on` and `fail-on`: which findings make the exit code 1.

use clap::ValueEnum;
use diagnostic::report::Summary;

// A doc comment would be the help of the option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
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
    /// The words that it is written as.
    pub fn words() -> Vec<String> {
        FailOn::value_variants().iter().map(ToString::to_string).collect()
    }

    /// Whether some of so many findings are such.
    pub fn any(self, errors: usize, warnings: usize, notes: usize) -> bool {
        let findings = match self {
            FailOn::Error => errors,
            FailOn::Warning => errors + warnings,
            FailOn::Note => errors + warnings + notes,
            FailOn::Never => 0,
        };
        findings > 0
    }

    /// 1 for such a finding; with `strict` 3 for unknown results without one; else 0.
    pub fn exit_code(self, summary: &Summary, strict: bool) -> u8 {
        match self.any(summary.error, summary.warning, summary.note) {
            true => 1,
            false if strict && summary.unknown > 0 => 3,
            false => 0,
        }
    }
}

/// As it is written: `warning`.
impl std::fmt::Display for FailOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}
