//! What `cluster up` and `cluster down` did.

use std::fmt::Write;

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::{Problem, Step};
use crate::progress::{Outcome, sign};
use diagnostic::layout::Layout;

/// The version of this report's schema.
pub const SCHEMA: u32 = 1;

/// The report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// envdoc's version.
    pub envdoc: String,
    /// The cluster's name.
    pub cluster: String,
    /// How the run ended.
    pub status: WorkStatus,
    /// What was looked at and done, in order.
    pub steps: Vec<StepEntry>,
    /// What stopped it.
    pub problems: Vec<Problem>,
    /// What should be known.
    pub notes: Vec<String>,
}

/// How `cluster up` or `cluster down` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkStatus {
    /// Something was changed, and the cluster is up.
    Up,
    /// It was up already.
    Unchanged,
    /// A dry run.
    Planned,
    /// It is down.
    Down,
    /// A step failed.
    Failed,
}

/// One step of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct StepEntry {
    /// Which.
    pub step: Step,
    /// The node; the cluster's name where it is of all.
    pub node: String,
    /// What was done, or is so.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// The plan of a dry run.
pub fn planned(report: &WorkReport, layout: Layout) -> String {
    let mut text = format!("Plan of `envdoc cluster up` for {}:\n", report.cluster);
    for step in &report.steps {
        let (sign, style) = sign(step.outcome, layout.unicode);
        let _ =
            writeln!(text, "  {style}{sign}{style:#} {:<9} {:<10} {}", step.step, step.node, step.message);
    }
    if report.steps.iter().all(|step| step.outcome == Outcome::Unchanged) {
        text.push_str("No changes: everything matches cluster.yaml.\n");
    }
    text + &rest(report, layout)
}

/// Problems and notes, for people.
pub fn rest(report: &WorkReport, layout: Layout) -> String {
    let mut text = problems(&report.problems, layout);
    for note in &report.notes {
        let _ = writeln!(text, "{}", textwrap::fill(&format!("note: {note}"), layout.width));
    }
    text
}

/// Problems, each with what to do.
pub fn problems(problems: &[Problem], layout: Layout) -> String {
    let mut text = String::new();
    for problem in problems {
        let (sign, style) = sign(Outcome::Failed, layout.unicode);
        let node = problem.node.as_deref().map_or(String::new(), |node| format!(" {node}"));
        let _ = writeln!(text, "{style}{sign} {}{node}:{style:#} {}", problem.step, problem.message.trim());
        for fix in &problem.fix {
            let arrow = if layout.unicode { "→" } else { "->" };
            let _ = writeln!(text, "    {arrow} {fix}");
        }
    }
    text
}
