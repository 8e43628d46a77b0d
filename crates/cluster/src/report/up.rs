//! What `cluster up` and `cluster down` did.

use std::fmt::Write;

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use super::unreached;
use crate::problem::{Problem, Step};
use crate::progress::{Outcome, sign};
use crate::reach::NodeAccess;
use diagnostic::layout::Layout;

/// The version of this report's schema.
pub const SCHEMA: u32 = 1;

/// What `envdoc cluster up` and `envdoc cluster down` print with `--format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// Name of the cluster in cluster.yaml.
    pub cluster: String,
    /// How the run ended.
    pub status: WorkStatus,
    /// What was looked at and done, in order.
    pub steps: Vec<StepEntry>,
    /// What stopped the run, or was left undone; empty where it succeeded.
    pub problems: Vec<Problem>,
    /// Remarks that stop nothing, a sentence each.
    pub notes: Vec<String>,
    /// How connecting to each node ended. Problems of this list are shown by cause, next to a table of the
    /// nodes.
    #[serde(skip)]
    pub access: Vec<NodeAccess>,
}

/// How `cluster up` or `cluster down` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkStatus {
    /// Something was changed, and the cluster is up.
    Up,
    /// The cluster was up already; nothing was changed.
    Unchanged,
    /// `--dry-run`: nothing was changed.
    Planned,
    /// `cluster down` removed what there was of the cluster.
    Down,
    /// A step failed: see `problems`.
    Failed,
}

/// One step of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct StepEntry {
    /// The step that this line is about.
    pub step: Step,
    /// The node; the cluster's name where it is of all.
    pub node: String,
    /// What was done, or is so.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// Whether it was so already (`unchanged`), was done, would be done (`planned`), or failed.
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
    let mut text = unreached::nodes(&report.access, layout);
    let shown = |problem: &&Problem| report.access.iter().any(|one| one.problem.as_ref() == Some(*problem));
    text += &problems(report.problems.iter().filter(|problem| !shown(problem)), layout);
    for note in &report.notes {
        let _ = writeln!(text, "{}", textwrap::fill(&format!("note: {note}"), layout.width));
    }
    text
}

/// Problems, each with what to do.
fn problems<'p>(problems: impl Iterator<Item = &'p Problem>, layout: Layout) -> String {
    let mut text = String::new();
    for problem in problems {
        let (sign, style) = sign(Outcome::Failed, layout.unicode);
        let node = problem.node.as_deref().map_or(String::new(), |node| format!(" {node}"));
        let _ = writeln!(text, "{style}{sign} {}{node}:{style:#} {}", problem.step, problem.message.trim());
        for fix in &problem.fixes {
            let arrow = if layout.unicode { "→" } else { "->" };
            let _ = writeln!(text, "    {arrow} {fix}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LAYOUT, SIX_NODES, plain, six_nodes};

    #[test]
    fn unreachable_nodes_are_a_table_and_a_line_for_each_cause() {
        let access = six_nodes();
        let mut problems: Vec<Problem> = access.iter().filter_map(|one| one.problem.clone()).collect();
        problems.push(Problem::of(Step::Swarm, "node1", "it is in another swarm"));
        let report = WorkReport {
            schema: SCHEMA,
            envdoc: String::new(),
            cluster: "lab".into(),
            status: WorkStatus::Failed,
            steps: Vec::new(),
            problems,
            notes: Vec::new(),
            access,
        };
        let shown = plain(&rest(&report, LAYOUT));
        assert_eq!(shown, format!("{SIX_NODES}✗ swarm node1: it is in another swarm\n"));
    }
}
