//! What an inspection says while it goes on.

use std::cell::RefCell;

use crate::plan::ClusterPlan;

/// What an inspection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connections to the machines, and envdoc there.
    Connect,
    /// Copying envdoc to machines that lack it.
    Copy,
    /// Each machine reads itself.
    Read,
    /// The network between the machines, and what must be the same on all.
    Network,
}

/// What happens during an inspection.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'n> {
    /// A phase begins, on so many machines.
    Begins(Phase, usize),
    /// The machines that the phase still waits for.
    Left(&'n [&'n str]),
}

/// Machines on which envdoc is missing, and what copying it there means.
#[derive(Debug)]
pub struct Missing {
    /// The names of the nodes in cluster.yaml.
    pub nodes: Vec<String>,
    /// Bytes that each gets.
    pub bytes: usize,
}

/// The machines that a phase waits for.
pub(super) struct Left<'n, N> {
    names: RefCell<Vec<&'n str>>,
    notice: &'n N,
}

impl<'n, N: Fn(Notice<'_>)> Left<'n, N> {
    /// The phase begins on all machines of the plan.
    pub(super) fn of(phase: Phase, plan: &'n ClusterPlan, notice: &'n N) -> Left<'n, N> {
        let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
        notice(Notice::Begins(phase, names.len()));
        notice(Notice::Left(&names));
        Left { names: RefCell::new(names), notice }
    }

    /// The work of a machine, which is left no longer then.
    pub(super) async fn until<T>(&self, name: &str, work: impl Future<Output = T>) -> T {
        let result = work.await;
        self.names.borrow_mut().retain(|left| *left != name);
        (self.notice)(Notice::Left(&self.names.borrow()));
        result
    }
}
