//! What the inspection of a cluster waits for, and what it asks.

use std::io::IsTerminal;

use ::cluster::check::{Missing, Notice, Phase};
use ::cluster::nodes::Limits;
use ::cluster::plan::{ClusterPlan, Node};
use ::cluster::problem::Problem;
use ::cluster::reach;
use ::cluster::waiting::Waiting;
use diagnostic::terminal;
use diagnostic::words::plural;
use docker::engine::Engine;

/// Shows the phases of an inspection.
pub(super) struct Inspecting(Waiting);

/// More names than these are a number.
const NAMES_LIMIT: usize = 4;

impl Inspecting {
    pub(super) fn new() -> Inspecting {
        Inspecting(Waiting::new("starting"))
    }

    pub(super) fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Begins(phase, count) => self.0.phase(doing(phase, count)),
            Notice::Left([]) => self.0.detail(""),
            Notice::Left(names) if names.len() <= NAMES_LIMIT => {
                self.0.detail(format!("waiting for {}", names.join(", ")));
            }
            Notice::Left(names) => self.0.detail(format!("waiting for {}", names.len())),
        }
    }

    /// Asks on the terminal whether envdoc may be copied; without a terminal the answer is no.
    pub(super) fn asked(&self, missing: &Missing) -> bool {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return false;
        }
        self.0.pause();
        let bytes = u64::try_from(missing.bytes).unwrap_or(u64::MAX);
        terminal::note(&format!(
            "envdoc is not installed on {}. Copy it ({}) into ~/.cache/envdoc of each? [y/N]",
            missing.nodes.join(", "),
            diagnostic::units::short_size(bytes)
        ));
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
    }
}

/// Every node with its engine, or why that cannot be used; the wait is shown.
pub(in crate::cli) async fn connected(plan: &ClusterPlan) -> Vec<(&Node, Result<Engine, Problem>)> {
    connected_to(&plan.nodes, Limits::default(), true).await
}

/// These nodes with their engines; the wait is shown unless standard error has JSON events.
pub(super) async fn connected_to<'p>(
    nodes: impl IntoIterator<Item = &'p Node>,
    limits: Limits,
    shown: bool,
) -> Vec<(&'p Node, Result<Engine, Problem>)> {
    let nodes: Vec<&Node> = nodes.into_iter().collect();
    let _waiting = shown.then(|| connecting(nodes.len()));
    reach::connect_to(nodes, limits).await
}

/// Shown while the engines of so many nodes are connected to.
pub(super) fn connecting(nodes: usize) -> Waiting {
    Waiting::new(doing(Phase::Connect, nodes))
}

/// `connecting to 4 machines`.
pub(super) fn doing(phase: Phase, count: usize) -> String {
    let machines = plural(count, "machine");
    match phase {
        Phase::Connect => format!("connecting to {machines}"),
        Phase::Copy => format!("copying envdoc to {machines}"),
        Phase::Read => format!("reading {machines}"),
        Phase::Network => format!("testing the network between {machines}"),
    }
}
