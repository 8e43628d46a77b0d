//! What a command reports, before it has a format: each renderer of [`crate::render`] writes this.

use std::borrow::Cow;

use crate::chart::Chart;
use crate::ignored::IgnoredEntry;
use crate::layout::Mark;
use crate::rule::{Group, Rule};
pub use crate::run::Run;
use crate::{Fix, Severity, Subject, Verdict};

/// The results of one command.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command: `envdoc check`.
    pub command: &'static str,
    /// What was examined, a line each, for people: `Ubuntu 24.04.3 LTS · Linux 6.8.0 · x86_64`.
    pub about: Vec<String>,
    /// The same for programs: name and value, `("driver", "580.95.05")`.
    pub properties: Vec<(&'static str, String)>,
    /// What Markdown and HTML show before the results: how many nodes compare.
    pub overview: Vec<Section>,
    /// One entry for each rule and subject, in the order of the report.
    pub results: Vec<Outcome>,
    /// What Markdown and HTML show after the results.
    pub sections: Vec<Section>,
}

/// What a report shows besides its results: measurements, lines of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its title: `Bandwidth`.
    pub heading: Cow<'static, str>,
    /// What stands under it.
    pub body: Body,
}

/// The content of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A table; each row has a cell for every column.
    Table {
        /// The columns, from the left.
        columns: &'static [Column],
        /// The rows, from the top.
        rows: Vec<Row>,
    },
    /// How each node is in each group.
    Nodes(Nodes),
    /// Lines shown as they are, in a fixed-width font.
    Lines(Vec<String>),
    /// Points, one sentence or more each.
    List(Vec<String>),
    /// What to do, the best first.
    Fixes(Vec<Fix>),
    /// What settings files leave out of the results; every format shows it.
    Ignored(Vec<IgnoredEntry>),
    /// A chart; only HTML shows it.
    Chart(Box<Chart>),
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// A cell for every column.
    pub cells: Vec<String>,
    /// What is wrong with the row, and how much: `slow`.
    pub mark: Option<(Mark, &'static str)>,
}

impl From<Vec<String>> for Row {
    fn from(cells: Vec<String>) -> Row {
        Row { cells, mark: None }
    }
}

/// Many nodes next to each other, a row each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The groups that have a column: those in which some node has findings, or an inspected one unknowns.
    pub groups: Vec<Group>,
    pub rows: Vec<NodeRow>,
    /// The groups without a column in which some node has passed checks.
    pub passed: Vec<Group>,
    /// The groups without a column that apply to none of these nodes.
    pub not_applicable: Vec<Group>,
}

impl Nodes {
    /// What the groups without a column show, in sentences.
    pub fn without_column(&self) -> Vec<String> {
        let sentence = |start: &str, groups: &[Group]| {
            let titles: Vec<&str> = groups.iter().map(|group| group.title).collect();
            (!titles.is_empty()).then(|| format!("{start} {}.", titles.join(", ")))
        };
        let passed = sentence("No findings on the inspected nodes:", &self.passed);
        passed
            .into_iter()
            .chain(sentence("Not applicable to the inspected nodes:", &self.not_applicable))
            .collect()
    }
}

/// The results of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// The name of the node in cluster.yaml.
    pub name: String,
    /// Its endpoint or file, and how far envdoc got with it where it is not everything.
    pub detail: String,
    /// All its results.
    pub all: Summary,
    /// Those of each group that has a column.
    pub groups: Vec<Summary>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its title, with the unit: `busbw, GB/s`.
    pub title: &'static str,
    /// Whether its cells are numbers, which stand at the right.
    pub number: bool,
}

impl Column {
    /// A column of words.
    pub const fn words(title: &'static str) -> Column {
        Column { title, number: false }
    }

    /// A column of numbers.
    pub const fn number(title: &'static str) -> Column {
        Column { title, number: true }
    }
}

impl Section {
    /// A section; `None` where it would be empty.
    pub fn new(heading: impl Into<Cow<'static, str>>, body: Body) -> Option<Section> {
        let empty = match &body {
            Body::Table { rows, .. } => rows.is_empty(),
            Body::Lines(lines) | Body::List(lines) => lines.is_empty(),
            Body::Fixes(fixes) => fixes.is_empty(),
            Body::Ignored(entries) => entries.is_empty(),
            Body::Chart(chart) => chart.points.is_empty(),
            Body::Nodes(nodes) => nodes.rows.is_empty(),
        };
        (!empty).then(|| Section { heading: heading.into(), body })
    }
}

/// What one rule said of one subject.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The rule that gave the verdict.
    pub rule: RuleInfo,
    /// What was judged, where a rule judges several subjects: a node, a file.
    pub subject: Subject,
    /// What it found, or why it could not tell.
    pub verdict: Verdict,
    /// How long it took and what it saw, where the rule is a step that ran.
    pub step: Option<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its duration in seconds.
    pub seconds: f64,
    /// What was seen: `2 connections, the slowest took 0.1 ms`.
    pub observed: String,
    /// What is wrong with it though it passed, and how much: `slow`.
    pub mark: Option<(Mark, &'static str)>,
}

/// What a report shows of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Kebab case, as `envdoc explain` takes it.
    pub id: Cow<'static, str>,
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
        Outcome { rule: rule.into(), subject, verdict, step: None }
    }

    /// The same of this subject.
    #[must_use]
    pub fn on(self, subject: Subject) -> Outcome {
        Outcome { subject, ..self }
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
        self.counts().iter().map(|(_, _, words)| words.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The same one by one in that order, with its mark and its number: `(Mark::Error, 1, "1 error")`.
    pub fn counts(&self) -> Vec<(Mark, usize, String)> {
        let all = [
            (Mark::Error, self.error, "error", "errors"),
            (Mark::Warning, self.warning, "warning", "warnings"),
            (Mark::Note, self.note, "note", "notes"),
            (Mark::Unknown, self.unknown, "unknown", "unknown"),
            (Mark::Pass, self.pass, "passed", "passed"),
        ];
        let words = |(mark, count, one, many)| {
            let word = if count == 1 { one } else { many };
            (mark, count, format!("{count} {word}"))
        };
        all.into_iter().filter(|(_, count, ..)| *count > 0).map(words).collect()
    }

    /// Whether every result is a pass or does not apply.
    pub fn is_clear(&self) -> bool {
        self.error + self.warning + self.note + self.unknown == 0
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
