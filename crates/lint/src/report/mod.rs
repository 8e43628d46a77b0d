//! What `envdoc lint` reports: its document in JSON ([`json`]) and the pages of its rules ([`rules`]). Every
//! other format is written by [`diagnostic::render`].

pub mod coverage;
pub mod json;
pub mod rules;

use diagnostic::Severity;
use diagnostic::layout::{Layout, Mark};
use diagnostic::render::text::by_file;
use diagnostic::report::{Outcome, Report};

use crate::Finding;
pub use coverage::Coverage;
pub use diagnostic::words::plural;

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

/// The findings, for every renderer.
pub fn report(findings: &[Finding], coverage: &Coverage) -> Report {
    Report {
        command: "envdoc lint",
        about: coverage.lines(),
        properties: Vec::new(),
        overview: Vec::new(),
        results: findings
            .iter()
            .map(|one| Outcome::new(one.rule, one.found.diagnostic(&one.file).into()))
            .collect(),
        sections: Vec::new(),
    }
}

/// Every finding with its place, how many there are, and which files were checked by how many rules.
pub fn text(findings: &[Finding], coverage: &Coverage, layout: Layout) -> String {
    let (files, checked) = (plural(coverage.files(), "file"), coverage.text(layout));
    if findings.is_empty() {
        let (style, sign) = (Mark::Pass.style(), Mark::Pass.sign(layout.unicode));
        return format!("{style}{sign}{style:#} no findings in {files}\n{checked}");
    }
    let words = Counts::of(findings).words();
    let fixable = findings.iter().filter(|one| one.found.has_edits()).count();
    let fix = match fixable {
        0 => String::new(),
        _ => format!("{fixable} can be fixed with envdoc lint --fix\n"),
    };
    format!(
        "{}\n{words} in {files}; details: envdoc explain RULE\n{fix}{checked}",
        by_file(&report(findings, coverage), layout)
    )
}
