//! Reports of `envdoc lint`: one file a format.

pub mod github;
pub mod json;
pub mod rules;
pub mod sarif;
pub mod text;

use crate::lint::{Finding, Severity};

/// How many findings there are of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Certainly fails, or gives away a secret.
    pub error: usize,
    /// May fail, or is slower or riskier than it need be.
    pub warning: usize,
    /// Worth knowing.
    pub note: usize,
}

impl Counts {
    /// Counts.
    pub fn of(findings: &[Finding]) -> Counts {
        let count = |severity| findings.iter().filter(|one| one.found.severity == severity).count();
        Counts {
            error: count(Severity::Error),
            warning: count(Severity::Warning),
            note: count(Severity::Note),
        }
    }

    /// `2 errors, 1 note`; empty where there is nothing.
    pub fn words(self) -> String {
        let parts = [(self.error, "error"), (self.warning, "warning"), (self.note, "note")];
        let words = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| plural(*count, word));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// `1 file`, `2 files`.
pub fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
