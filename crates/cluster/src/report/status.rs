//! What `cluster status` found.

use std::fmt::Write;

use anstyle::AnsiColor;
use schemars::JsonSchema;
use serde::Serialize;

use super::unreached::{self, Marks, Unreached};
use crate::lock::{Access, Holder};
use crate::status::{ContainerState, NodeStatus, Status, SwarmState};
use diagnostic::layout::Layout;
use diagnostic::terminal::colour;
use docker::container::Health;

/// The version of this report's schema.
pub const SCHEMA: u32 = 1;

/// What `envdoc cluster status --format json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// Name of the cluster in cluster.yaml.
    pub cluster: String,
    /// Whether it is as cluster.yaml describes it.
    pub status: ClusterState,
    /// The nodes, also those that are no longer in cluster.yaml but were not removed.
    pub nodes: Vec<NodeStatus>,
    /// What could not be compared with cluster.yaml, and why, a sentence each; left out where all was
    /// compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The run of envdoc that changes the cluster now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Holder>,
    /// The runs of envdoc that use it now: `launch`, `exec`, `smoke`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Holder>,
}

/// What `cluster status` found of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClusterState {
    /// No node differs from cluster.yaml.
    Up,
    /// Every engine was reached, and none has a container or the network of the cluster.
    Down,
    /// Anything else: something is missing, differs, or could not be checked.
    Partly,
}

impl StatusReport {
    /// From what was seen.
    pub fn new(cluster: &str, found: Status) -> StatusReport {
        let Status { nodes, notes, runs } = found;
        let (mut changing, jobs): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|holder| holder.access == Access::Change);
        // An attempt to join that failed is something to report.
        let settled = |node: &NodeStatus| {
            matches!(node.swarm, None | Some(SwarmState::None | SwarmState::Ready | SwarmState::Active))
        };
        let nothing = |node: &NodeStatus| {
            node.engine.is_some()
                && node.container == Some(ContainerState::None)
                && node.network.is_none()
                && settled(node)
        };
        let status = match (nodes.iter().all(|node| node.differs.is_empty()), nodes.iter().all(nothing)) {
            (true, _) => ClusterState::Up,
            (false, true) => ClusterState::Down,
            (false, false) => ClusterState::Partly,
        };
        StatusReport {
            schema: SCHEMA,
            envdoc: env!("CARGO_PKG_VERSION").into(),
            cluster: cluster.to_owned(),
            status,
            nodes,
            notes,
            lock: changing.pop(),
            jobs,
        }
    }
}

pub fn text(report: &StatusReport, layout: Layout) -> String {
    let mut text = String::new();
    let short = |id: &str| id.strip_prefix("sha256:").unwrap_or(id).chars().take(12).collect::<String>();
    let dash = || "-".to_owned();
    let mut rows = vec![
        ["node", "engine", "swarm", "network", "image", "container", "health", "since"].map(str::to_owned),
    ];
    for node in &report.nodes {
        rows.push([
            node.node.clone(),
            node.engine.clone().unwrap_or_else(|| "not reached".into()),
            node.swarm.as_ref().map_or_else(dash, SwarmState::to_string),
            node.network.clone().unwrap_or_else(dash),
            node.image.as_deref().map_or_else(dash, short),
            node.container.as_ref().map_or_else(dash, ContainerState::to_string),
            node.health.as_ref().map_or_else(dash, Health::to_string),
            node.since.as_deref().map_or_else(dash, |since| since.chars().take(19).collect()),
        ]);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    let (sign, arrow) = if layout.unicode { ("✓", "✗") } else { ("+", "x") };
    let (green, red) = (colour(AnsiColor::Green), colour(AnsiColor::Red).bold());
    text.push('\n');
    match report.status {
        ClusterState::Up => {
            let _ =
                writeln!(text, "{green}{sign} {} is up and matches cluster.yaml{green:#}", report.cluster);
        }
        ClusterState::Down => {
            let _ = writeln!(text, "{} is down; start it: `envdoc cluster up`", report.cluster);
        }
        ClusterState::Partly => {
            let unreached = report.nodes.iter().filter_map(|node| {
                let (cause, why) = (node.unreached?, node.differs.first()?);
                Some(Unreached { node: &node.node, why, cause, fixes: &node.fixes })
            });
            unreached::causes(&mut text, unreached, &Marks::failed(layout), unreached::whole(layout));
            for node in report.nodes.iter().filter(|node| node.unreached.is_none()) {
                for differs in &node.differs {
                    let _ = writeln!(text, "{red}{arrow} {}:{red:#} {differs}", node.node);
                }
                for fix in &node.fixes {
                    let _ = writeln!(text, "  {}: {fix}", node.node);
                }
            }
        }
    }
    if let Some(holder) = &report.lock {
        let _ = writeln!(text, "locked: {holder} is changing this cluster");
    }
    for holder in &report.jobs {
        let _ = writeln!(text, "in use: {holder}; `up` and `down` wait for it");
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LAYOUT, SIX_NODES, plain, six_nodes};

    #[test]
    fn unreachable_nodes_are_a_line_for_each_cause() {
        let row = |one: crate::reach::NodeAccess| match one.problem {
            None => NodeStatus { node: one.node, engine: Some("20.10".into()), ..NodeStatus::default() },
            Some(problem) => NodeStatus {
                node: one.node,
                differs: vec![problem.message],
                fixes: problem.fixes,
                unreached: problem.unreached,
                ..NodeStatus::default()
            },
        };
        let nodes = six_nodes().into_iter().map(row).collect();
        let report = StatusReport::new("lab", Status { nodes, ..Status::default() });
        let causes = &SIX_NODES[SIX_NODES.find('✗').unwrap()..];
        let shown = plain(&text(&report, LAYOUT));
        assert!(shown.ends_with(causes), "{shown}");
        assert_eq!(shown.matches("not reached").count(), 5, "{shown}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["nodes"][0].get("fix").or(json["nodes"][0].get("fixes")), None, "{json}");
        assert_eq!(json["nodes"][1]["fix"][0], "do something about node2");
        assert_eq!(json["nodes"][1]["fixes"][0]["class"], "manual");
    }
}
