//! Progress events of a smoke test: phases, and nodes that are done.

use std::collections::BTreeMap;

use super::phase::PhaseId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'s> {
    /// A phase begins, or its description changes.
    Phase {
        /// The name of the phase: `links`.
        name: &'s str,
        /// What is done.
        message: &'s str,
    },
    /// A node is done with what is under way.
    Node {
        /// The name of the node in cluster.yaml.
        node: &'s str,
        /// Whether it holds there.
        held: bool,
    },
}

#[derive(Clone, Copy)]
pub struct Progress<'t>(pub &'t dyn Fn(Event<'_>));

impl Progress<'_> {
    /// A phase begins, or its description changes.
    pub fn phase(&self, phase: PhaseId, message: &str) {
        (self.0)(Event::Phase { name: phase.id(), message });
    }

    /// A node is done with what is under way.
    pub fn node(&self, node: &str, held: bool) {
        (self.0)(Event::Node { node, held });
    }

    /// Counts the work left per node: reports the node when nothing is left, or on a failure.
    pub fn counting<'c>(&'c self, mut left: BTreeMap<String, usize>) -> impl FnMut(&str, bool) + 'c {
        move |node, held| {
            let left = left.entry(node.to_owned()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 || !held {
                self.node(node, held);
            }
        }
    }
}
