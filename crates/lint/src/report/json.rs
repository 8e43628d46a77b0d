//! The findings for machines. The keys are stable; the schema is docs/schemas/lint.json.

use diagnostic::render::json::{EditEntry, FixEntry, IgnoredEntry};
use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use diagnostic::{Diagnostic, Fix, Severity, Subject};

use super::{Counts, Coverage};
use crate::Finding;

/// Version of the format.
pub const SCHEMA: u32 = 3;

/// What `envdoc lint --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LintReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// The files that were looked at.
    pub files: Vec<String>,
    /// How many findings there are of each severity.
    pub summary: Counts,
    /// What was found, file by file in the order of the lines.
    pub findings: Vec<Entry>,
    /// The files that were checked, by type.
    pub checked: Vec<CheckedFiles>,
    /// The files that no rule checked.
    pub skipped: Vec<SkippedFile>,
    /// What settings files leave out in all files.
    #[serde(default)]
    pub ignored: Vec<IgnoredEntry>,
}

/// The files of one type.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckedFiles {
    /// The type, as `--as` takes it: `dockerfile`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many of the chosen rules check files of this type.
    pub rules: usize,
    /// The files of this type, as findings name them.
    pub files: Vec<String>,
}

/// A file that no rule checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedFile {
    /// The file, as findings would name it.
    pub file: String,
    /// `unknown-type`, `kubernetes`, `cloudformation`, `binary`, `outside` (of the repository, not read) or
    /// `virtual-environment` (a directory, not searched).
    pub reason: String,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Entry {
    /// Id of the rule.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// File and line again, as the findings of every command have them, and the name of what it is about: a
    /// variable, a package, an image, the path of a key.
    pub subject: Subject,
    /// What is wrong, what was expected and the consequence.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The same as `fixes`, as one text with the commands in backquotes; may be empty.
    pub fix: String,
    /// What to do, the best first: one with `edits` is what `envdoc lint --fix` does, one of class `manual`
    /// needs a person.
    pub fixes: Vec<FixEntry>,
    /// The edits of all `fixes`; empty: `envdoc lint --fix` changes nothing.
    pub edits: Vec<EditEntry>,
}

/// The report.
pub fn report(
    findings: &[Finding],
    files: &[String],
    coverage: &Coverage,
    ignored: Vec<IgnoredEntry>,
) -> LintReport {
    let checked = coverage.checked.iter().map(|one| CheckedFiles {
        kind: one.kind.id().into(),
        rules: one.rules,
        files: one.files.clone(),
    });
    let skipped = coverage
        .skipped
        .iter()
        .map(|one| SkippedFile { file: one.name.clone(), reason: one.why.id().into() });
    LintReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        files: files.to_vec(),
        summary: Counts::of(findings),
        findings: findings.iter().map(entry).collect(),
        checked: checked.collect(),
        skipped: skipped.collect(),
        ignored,
    }
}

fn entry(finding: &Finding) -> Entry {
    let Diagnostic { severity, subject, message, fixes, .. } = finding.found.diagnostic(&finding.file);
    let lines: Vec<String> = fixes.iter().map(Fix::to_string).collect();
    Entry {
        rule: finding.rule.id.into(),
        severity,
        file: finding.file.clone(),
        line: finding.found.line,
        subject,
        message,
        fix: lines.join("; "),
        fixes: fixes.iter().map(FixEntry::from).collect(),
        edits: finding.found.edits().map(EditEntry::from).collect(),
    }
}
