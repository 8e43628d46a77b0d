//! What is told of a smoke test while it goes on: rungs, and nodes that are done.

use std::collections::BTreeMap;

/// What is told while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'s> {
    /// A rung begins, or something else is done on it.
    Phase {
        /// Which.
        name: &'s str,
        /// What is done.
        says: &'s str,
    },
    /// A node is done with what is under way.
    Node {
        /// Which.
        node: &'s str,
        /// Whether it holds there.
        held: bool,
    },
}

/// Who is told.
#[derive(Clone, Copy)]
pub struct Progress<'t>(pub &'t dyn Fn(Event<'_>));

impl Progress<'_> {
    /// A rung begins, or something else is done on it.
    pub fn phase(&self, name: &str, says: &str) {
        (self.0)(Event::Phase { name, says });
    }

    /// A node is done with what is under way.
    pub fn node(&self, node: &str, held: bool) {
        (self.0)(Event::Node { node, held });
    }

    /// Counts what of each node is done: it is told when nothing is left, or does not hold.
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
