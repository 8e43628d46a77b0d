//! What a command reports, before it has a format: each renderer of [`crate::render`] writes this.

use std::borrow::Cow;

use crate::rule::{Group, Rule};
use crate::{Severity, Subject, Verdict};

/// The results of one command.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command: `envdoc check`.
    pub command: &'static str,
    /// What was examined, a line each, for people: `Ubuntu 24.04.3 LTS · Linux 6.8.0 · x86_64`.
    pub about: Vec<String>,
    /// The same for programs: name and value, `("driver", "580.95.05")`.
    pub properties: Vec<(&'static str, String)>,
    /// One entry for each rule and subject, in the order of the report.
    pub results: Vec<Outcome>,
}

/// What one rule said of one subject.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The rule.
    pub rule: RuleInfo,
    /// What was judged, where a rule judges several subjects: a node, a file.
    pub subject: Subject,
    /// The verdict.
    pub verdict: Verdict,
}

/// What a report shows of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its id.
    pub id: Cow<'static, str>,
    /// Its group.
    pub group: Group,
    /// The worst that it says.
    pub severity: Severity,
    /// What a sound subject shows.
    pub summary: Cow<'static, str>,
    /// Markdown.
    pub explain: Cow<'static, str>,
}

impl<R: Rule + ?Sized> From<&R> for RuleInfo {
    fn from(rule: &R) -> RuleInfo {
        RuleInfo {
            id: rule.id().into(),
            group: rule.group(),
            severity: rule.severity(),
            summary: rule.summary().into(),
            explain: rule.explain().into(),
        }
    }
}

impl Outcome {
    /// A verdict on the one subject of a command.
    pub fn new(rule: impl Into<RuleInfo>, verdict: Verdict) -> Outcome {
        let subject = verdict.found().map(|found| found.subject.clone()).unwrap_or_default();
        Outcome { rule: rule.into(), subject, verdict }
    }
}

/// How many results have each status.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Summary {
    /// Looked, and all is well.
    pub pass: usize,
    /// Findings at note level.
    #[serde(default)]
    pub note: usize,
    /// Findings at warning level.
    pub warning: usize,
    /// Findings at error level.
    pub error: usize,
    /// Could not look.
    pub unknown: usize,
    /// Means nothing here.
    pub not_applicable: usize,
}

impl Summary {
    /// Counts verdicts.
    pub fn of<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>) -> Summary {
        let mut summary = Summary::default();
        for verdict in verdicts {
            match (verdict, verdict.severity()) {
                (Verdict::Pass, _) => summary.pass += 1,
                (Verdict::NotApplicable(_), _) => summary.not_applicable += 1,
                (Verdict::Unknown(_), _) => summary.unknown += 1,
                (_, Some(Severity::Error)) => summary.error += 1,
                (_, Some(Severity::Warning)) => summary.warning += 1,
                (_, _) => summary.note += 1,
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
        add(self.note, "note", "notes");
        add(self.unknown, "unknown", "unknown");
        add(self.pass, "passed", "passed");
        words.join(", ")
    }
}

impl Report {
    /// How many results have each status.
    pub fn summary(&self) -> Summary {
        Summary::of(self.results.iter().map(|outcome| &outcome.verdict))
    }

    /// The groups of its results, each once, in the order in which they come.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for outcome in &self.results {
            if !groups.contains(&outcome.rule.group) {
                groups.push(outcome.rule.group);
            }
        }
        groups
    }

    /// The results of one group, in order.
    pub fn of_group(&self, group: Group) -> impl Iterator<Item = &Outcome> {
        self.results.iter().filter(move |outcome| outcome.rule.group == group)
    }
}
