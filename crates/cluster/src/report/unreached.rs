//! Nodes that cannot be reached: a table of all nodes, then a line for each cause. Twelve nodes that refuse
//! the connection are one line.

use std::fmt::Write;

use anstyle::Style;

use crate::progress::{self, Outcome};
use crate::reach::NodeAccess;
use diagnostic::Fix;
use diagnostic::layout::{Layout, wrapped};
use docker::transport::ConnectCause;

/// A node that cannot be reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unreached<'r> {
    pub(crate) node: &'r str,
    /// The whole reason.
    pub(crate) why: &'r str,
    /// The kind of reason, where it is a known one.
    pub(crate) cause: Option<ConnectCause>,
    pub(crate) fixes: &'r [Fix],
}

impl<'r> Unreached<'r> {
    /// What is known of a node that was not reached; `None` of one that was.
    pub(crate) fn of(access: &'r NodeAccess) -> Option<Unreached<'r>> {
        let problem = access.problem.as_ref()?;
        let (why, fixes) = (problem.message.trim(), &problem.fixes);
        Some(Unreached { node: &access.node, why, cause: problem.unreached.flatten(), fixes })
    }
}

/// A row of the table.
pub(super) struct Row<'r> {
    pub(super) node: &'r str,
    pub(super) engine: &'r str,
    pub(super) access: &'r str,
}

/// What comes before a cause, and before what to do about it.
pub(super) struct Marks {
    pub(super) sign: &'static str,
    pub(super) style: Style,
    pub(super) hint: &'static str,
}

impl Marks {
    /// Those of a failure.
    pub(super) fn failed(layout: Layout) -> Marks {
        let (sign, style) = progress::sign(Outcome::Failed, layout.unicode);
        Marks { sign, style, hint: if layout.unicode { "  → " } else { "  -> " } }
    }
}

/// The table of the nodes and a line for each cause; nothing where all were reached.
pub fn nodes(access: &[NodeAccess], layout: Layout) -> String {
    let mut text = String::new();
    if access.iter().all(|one| one.problem.is_none()) {
        return text;
    }
    let row = |one: &NodeAccess| match &one.problem {
        None => "connected",
        Some(problem) if problem.unreached.is_some() => "UNREACHABLE",
        Some(_) => "connected, not usable",
    };
    let rows = access.iter().map(|one| Row { node: &one.node, engine: &one.engine, access: row(one) });
    table(&mut text, &rows.collect::<Vec<_>>());
    causes(&mut text, access.iter().filter_map(Unreached::of), &Marks::failed(layout), whole(layout));
    text
}

/// Without line breaks, as all lines about what failed: scripts search them.
pub(super) fn whole(layout: Layout) -> Layout {
    Layout { width: usize::MAX, ..layout }
}

/// A row for each node.
pub(super) fn table(text: &mut String, rows: &[Row<'_>]) {
    let width =
        |of: fn(&Row<'_>) -> usize, title: &str| rows.iter().map(of).max().unwrap_or(0).max(title.len());
    let (name, engine) = ("node", "engine");
    let first = width(|row| row.node.chars().count(), name);
    let second = width(|row| row.engine.chars().count(), engine);
    let bold = Style::new().bold();
    let _ = writeln!(text, "{bold}{name:first$}  {engine:second$}  access{bold:#}");
    for row in rows {
        let _ = writeln!(text, "{:first$}  {:second$}  {}", row.node, row.engine, row.access);
    }
}

/// A paragraph for each cause.
pub(super) fn causes<'r>(
    text: &mut String,
    unreached: impl IntoIterator<Item = Unreached<'r>>,
    marks: &Marks,
    layout: Layout,
) {
    let Marks { sign, style, hint } = marks;
    for group in by_cause(unreached) {
        wrapped(text, &group.message(), &format!("{style}{sign}{style:#} "), "  ", layout);
        for fix in group.fixes() {
            wrapped(text, &fix.to_string(), &format!("  {hint}"), "  ", layout);
        }
    }
}

/// Nodes that cannot be reached for the same reason.
#[derive(Debug)]
pub(crate) struct Group<'r>(Vec<Unreached<'r>>);

/// In the order in which the causes come up first.
pub(crate) fn by_cause<'r>(unreached: impl IntoIterator<Item = Unreached<'r>>) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    for one in unreached {
        let same = |first: &Unreached<'_>| match one.cause {
            Some(_) => first.cause == one.cause,
            None => first.cause.is_none() && first.why == one.why,
        };
        match groups.iter_mut().find(|group| same(&group.0[0])) {
            Some(group) => group.0.push(one),
            None => groups.push(Group(vec![one])),
        }
    }
    groups
}

impl Group<'_> {
    /// `node2: ssh: connect to host 10.0.0.2 port 22: Connection refused`, or of several nodes `node2, node3
    /// (2 nodes): ssh: Connection refused; for example node2: …`.
    pub(crate) fn message(&self) -> String {
        let Unreached { node, why, cause, .. } = self.0[0];
        if self.0.len() == 1 {
            return format!("{node}: {why}");
        }
        let names: Vec<&str> = self.0.iter().map(|one| one.node).collect();
        let names = format!("{} ({} nodes)", names.join(", "), names.len());
        match cause {
            Some(cause) => format!("{names}: {cause}; for example {node}: {why}"),
            None => format!("{names}: {why}"),
        }
    }

    /// What to do. It may name a machine: that of the first node, which the message names too.
    pub(crate) fn fixes(&self) -> &[Fix] {
        self.0[0].fixes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LAYOUT, SIX_NODES, plain, six_nodes};
    use docker::transport::ssh::messages::Fault;

    #[test]
    fn twelve_nodes_with_one_cause_are_one_line() {
        let names: Vec<String> = (1..=14).map(|number| format!("node{number}")).collect();
        let why = |number: usize| match number {
            13 => "ssh: Could not resolve hostname node13: Name or service not known".to_owned(),
            14 => "invalid HTTP answer".to_owned(),
            _ => format!("ssh: connect to host 10.0.0.{number} port 22: Connection refused"),
        };
        let reasons: Vec<String> = (1..=14).map(why).collect();
        let fixes = [Fix::manual("No SSH server listens on that port")];
        let unreached = names.iter().zip(&reasons).enumerate().map(|(index, (node, why))| Unreached {
            node,
            why,
            cause: match index {
                12 => Some(ConnectCause::Ssh(Fault::NameNotResolved)),
                13 => None,
                _ => Some(ConnectCause::Ssh(Fault::PortRefused)),
            },
            fixes: if index == 3 || index == 0 { &fixes } else { &[] },
        });
        let mut shown = String::new();
        let marks = Marks { sign: "?", style: Style::new(), hint: "hint: " };
        causes(&mut shown, unreached, &marks, whole(LAYOUT));
        assert_eq!(
            shown,
            "? node1, node2, node3, node4, node5, node6, node7, node8, node9, node10, node11, node12 (12 \
             nodes): ssh: Connection refused; for example node1: ssh: connect to host 10.0.0.1 port 22: \
             Connection refused\n  hint: No SSH server listens on that port\n? node13: ssh: Could not \
             resolve hostname node13: Name or service not known\n? node14: invalid HTTP answer\n"
        );
    }

    #[test]
    fn a_table_of_all_nodes_comes_before_a_line_for_each_cause() {
        assert_eq!(plain(&nodes(&six_nodes(), LAYOUT)), SIX_NODES);
    }

    #[test]
    fn nothing_is_shown_if_all_nodes_were_reached() {
        let reached: Vec<NodeAccess> =
            six_nodes().into_iter().map(|one| NodeAccess { problem: None, ..one }).collect();
        assert_eq!(nodes(&reached, LAYOUT), "");
    }
}
