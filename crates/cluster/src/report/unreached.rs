//! Nodes that cannot be reached, by cause: twelve nodes that refuse the connection are one line.

use anstyle::Style;

use diagnostic::layout::{Layout, wrapped};
use docker::transport::ConnectCause;

/// A node that cannot be reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unreached<'r> {
    pub(super) node: &'r str,
    /// The whole reason.
    pub(super) why: &'r str,
    /// The kind of reason, where it is a known one.
    pub(super) cause: Option<ConnectCause>,
    /// What to do.
    pub(super) hints: &'r [String],
}

/// A paragraph for each cause, with the sign before it; `hint` comes before what to do.
pub(super) fn text<'r>(
    text: &mut String,
    unreached: impl IntoIterator<Item = Unreached<'r>>,
    (sign, style): (&str, Style),
    hint: &str,
    layout: Layout,
) {
    for group in by_cause(unreached) {
        let first = &group[0];
        wrapped(text, &message(&group), &format!("{style}{sign}{style:#} "), "  ", layout);
        // They may name a machine: those of the first one, which the line names too.
        for fix in first.hints {
            wrapped(text, fix, &format!("  {hint}"), "  ", layout);
        }
    }
}

/// In the order in which the causes come up first.
fn by_cause<'r>(unreached: impl IntoIterator<Item = Unreached<'r>>) -> Vec<Vec<Unreached<'r>>> {
    let mut groups: Vec<Vec<Unreached<'r>>> = Vec::new();
    for one in unreached {
        let same = |first: &Unreached<'_>| match one.cause {
            Some(_) => first.cause == one.cause,
            None => first.cause.is_none() && first.why == one.why,
        };
        match groups.iter_mut().find(|group| same(&group[0])) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// `node2: ssh: connect to host 10.0.0.2 port 22: Connection refused`, or of several nodes `node2, node3 (2
/// nodes): ssh: Connection refused; for example node2: …`.
fn message(group: &[Unreached<'_>]) -> String {
    let Unreached { node, why, cause, .. } = group[0];
    if group.len() == 1 {
        return format!("{node}: {why}");
    }
    let names: Vec<&str> = group.iter().map(|one| one.node).collect();
    let names = format!("{} ({} nodes)", names.join(", "), names.len());
    match cause {
        Some(cause) => format!("{names}: {cause}; for example {node}: {why}"),
        None => format!("{names}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let hints = ["No SSH server listens on that port".to_owned()];
        let unreached = names.iter().zip(&reasons).enumerate().map(|(index, (node, why))| Unreached {
            node,
            why,
            cause: match index {
                12 => Some(ConnectCause::Ssh(Fault::NameNotResolved)),
                13 => None,
                _ => Some(ConnectCause::Ssh(Fault::PortRefused)),
            },
            hints: if index == 3 || index == 0 { &hints } else { &[] },
        });
        let layout = Layout { width: 400, unicode: true, verbose: false, root: false };
        let mut shown = String::new();
        text(&mut shown, unreached, ("?", Style::new()), "hint: ", layout);
        assert_eq!(
            shown,
            "? node1, node2, node3, node4, node5, node6, node7, node8, node9, node10, node11, node12 (12 \
             nodes): ssh: Connection refused; for example node1: ssh: connect to host 10.0.0.1 port 22: \
             Connection refused\n  hint: No SSH server listens on that port\n? node13: ssh: Could not \
             resolve hostname node13: Name or service not known\n? node14: invalid HTTP answer\n"
        );
    }
}
